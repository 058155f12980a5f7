#include "comch/endpoint_object.hpp"

#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "task/task_object.hpp"

namespace pydoca::bindings {

EndpointObject::EndpointObject(py::object engine, py::object device, const std::shared_ptr<comch::Endpoint>& endpoint,
                               EndpointOptions options)
    : ContextObject(std::move(engine), std::move(device), endpoint, options.context), options_(std::move(options)) {
  options_.context = {py::none(), py::none(), py::none(), py::none()};  // the base class has them
  require_callback(options_.on_connect, "on_connect");
  require_callback(options_.on_disconnect, "on_disconnect");
  require_callback(options_.on_message, "on_message");
  endpoint->set_send_conf(TaskObject::on_complete, TaskObject::on_complete, options_.num_send_tasks);
  if (options_.max_msg_size) endpoint->set_max_msg_size(*options_.max_msg_size);
  if (options_.recv_queue_size) endpoint->set_recv_queue_size(*options_.recv_queue_size);
}

EndpointObject& EndpointObject::of(std::uint64_t context_user_data) noexcept {
  return static_cast<EndpointObject&>(
      *reinterpret_cast<ContextObject*>(static_cast<std::uintptr_t>(context_user_data)));
}

std::string EndpointObject::describe() const {
  return std::string(context().kind()) + " \"" + endpoint().name() + "\"";
}

bool EndpointObject::was_stopped() const noexcept {
  const ContextState state = context().state();
  return (state == ContextState::stopping || state == ContextState::idle) && context().failure() == Status::success;
}

void EndpointObject::tell(const py::object& callback, const py::object& connection, bool successful) {
  if (!callback.is_none()) {
    engine().call(callback, self(), connection, successful, user_data());
  }
}

int EndpointObject::traverse(visitproc visit, void* arg) const {
  for (const py::object* callback : {&options_.on_connect, &options_.on_disconnect, &options_.on_message}) {
    if (const int stop = visit_ref(*callback, visit, arg)) return stop;
  }
  return ContextObject::traverse(visit, arg);
}

void EndpointObject::clear() {
  const py::object on_connect = std::exchange(options_.on_connect, py::none());
  const py::object on_disconnect = std::exchange(options_.on_disconnect, py::none());
  const py::object on_message = std::exchange(options_.on_message, py::none());
  ContextObject::clear();
}

}  // namespace pydoca::bindings

#include "comch/endpoint_object.hpp"

#include "call/keywords.hpp"
#include "convert/parse.hpp"
#include "task/task_object.hpp"

namespace pydoca::bindings {

EndpointObject::EndpointObject(py::object engine, py::object device, const std::shared_ptr<comch::Endpoint>& endpoint,
                               const py::kwargs& given)
    : ContextObject(std::move(engine), std::move(device), endpoint, ContextOptions::of(given)),
      on_connect_(callback(given, "on_connect")),
      on_disconnect_(callback(given, "on_disconnect")),
      on_message_(callback(given, "on_message")) {
  const auto set = [&](const char* name, auto&& use) {
    if (const py::object value = keyword(given, name); !value.is_none()) use(to_u32(value, name));
  };
  if (given.contains("num_send_tasks")) num_send_tasks_ = to_u32(given["num_send_tasks"], "num_send_tasks");
  endpoint->set_send_conf(TaskObject::on_complete, TaskObject::on_complete, num_send_tasks_);
  set("max_msg_size", [&](std::uint32_t size) { endpoint->set_max_msg_size(size); });
  set("recv_queue_size", [&](std::uint32_t size) { endpoint->set_recv_queue_size(size); });
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

void EndpointObject::each_reference(References& references) {
  references.drop(on_connect_, on_disconnect_, on_message_);
  ContextObject::each_reference(references);
}

}  // namespace pydoca::bindings

#include "comch/endpoint_object.hpp"

#include <pydoca/device_properties.hpp>

#include "call/keywords.hpp"
#include "convert/parse.hpp"
#include "task/task_object.hpp"

#include <cstdint>
#include <utility>

namespace pydoca::bindings {

namespace {

/// A device without the capability has refused the endpoint.
ComchCapabilities limits_of(const comch::Endpoint& endpoint) {
  return endpoint.device()->info().capabilities().comch.value_or(ComchCapabilities{});
}

}  // namespace

EndpointObject::EndpointObject(py::object engine, py::object device, const std::shared_ptr<comch::Endpoint>& endpoint,
                               const py::kwargs& given)
    : ContextObject(std::move(engine), std::move(device), endpoint, ContextOptions::of(given)),
      on_connect_(callback(given, "on_connect")),
      on_disconnect_(callback(given, "on_disconnect")),
      on_message_(callback(given, "on_message")) {
  constexpr std::uint32_t default_num_send_tasks = 64;
  const std::uint32_t num_send_tasks =
      given.contains("num_send_tasks")
          ? to_u32(given["num_send_tasks"], "num_send_tasks", 1, limits_of(*endpoint).max_send_tasks)
          : default_num_send_tasks;
  endpoint->set_send_conf(TaskObject::on_complete, TaskObject::on_complete, num_send_tasks);
  if (const py::object size = keyword(given, "max_msg_size"); !size.is_none()) set_max_msg_size(size);
  if (const py::object size = keyword(given, "recv_queue_size"); !size.is_none()) set_recv_queue_size(size);
}

void EndpointObject::set_max_msg_size(py::handle bytes) {
  require_thread("set max_msg_size");
  endpoint().set_max_msg_size(to_u32(bytes, "max_msg_size", 1, limits_of(endpoint()).max_msg_size));
}

void EndpointObject::set_recv_queue_size(py::handle messages) {
  require_thread("set recv_queue_size");
  endpoint().set_recv_queue_size(to_u32(messages, "recv_queue_size", 1, limits_of(endpoint()).max_recv_queue_size));
}

void EndpointObject::set_send_conf(py::object on_completion, py::object on_error, py::handle num_tasks) {
  set_conf(0, {std::move(on_completion), std::move(on_error)}, num_tasks, [&](std::uint32_t count) {
    endpoint().set_send_conf(TaskObject::on_complete, TaskObject::on_complete, count);
  });
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
    const auto wanted = py::reinterpret_borrow<py::object>(callback);  // it may replace itself meanwhile
    engine().call(wanted, self(), connection, successful, user_data());
  }
}

void EndpointObject::each_reference(References& references) {
  references.drop(on_connect_, on_disconnect_, on_message_);
  ContextObject::each_reference(references);
}

}  // namespace pydoca::bindings

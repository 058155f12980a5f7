#include "comch/send_task_object.hpp"

#include "convert/convert.hpp"
#include "task/library_task.hpp"

#include <utility>

namespace pydoca::bindings {

namespace {

std::size_t size_of(const py::object& bytes) { return static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr())); }

}  // namespace

py::object SendTaskObject::send(ConnectionObject& connection, py::handle data, py::handle user_data, bool submit) {
  connection.engine().require_thread("send");
  py::bytes message = connection.payload(data);
  connection.require_connected();
  const auto new_slot = [&](EndpointObject&) -> comch::SendTask& { return connection.new_slot(); };
  return make_task<SendTaskObject, EndpointObject>(
      connection.endpoint_ref(), 0, Content{connection, std::move(message)}, user_data, submit, new_slot);
}

void SendTaskObject::prepare(Content&& content) {
  ConnectionObject& connection = content.connection;
  // A slot belongs to one connection.
  if (send_slot().connection().get() != &connection.connection()) {
    context().tasks().release(*this);
    take_slot(connection.new_slot());
  }
  connection_ = connection.self();
  message_ = std::move(content.message);
  size_ = size_of(message_);
}

void SendTaskObject::set_message(const py::object& data) {
  require_idle("set message");
  message_ = link().payload(data);
  size_ = size_of(message_);
}

void SendTaskObject::set_operands() {
  const auto* const text = reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(message_.ptr()));
  const Status status = send_slot().set_message({text, size_});
  if (status != Status::success) {
    raise(status, "submit " + describe() + ": " + slot()->explain(status));
  }
}

void SendTaskObject::forget_operands() noexcept { const py::object message = std::exchange(message_, py::none()); }

void SendTaskObject::clear() {
  const py::object connection = std::exchange(connection_, py::none());
  forget_operands();
  TaskObject::clear();
}

std::string SendTaskObject::describe() const {
  return "send of " + std::to_string(size_) + " bytes (" + static_cast<const EndpointObject&>(context()).describe() +
         ")";
}

void SendTaskObject::each_reference(References& references) {
  references.keep(connection_);
  TaskObject::each_reference(references);
}

}  // namespace pydoca::bindings

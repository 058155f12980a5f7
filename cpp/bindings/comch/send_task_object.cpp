#include "comch/send_task_object.hpp"

#include "convert/convert.hpp"

#include <utility>

namespace pydoca::bindings {

namespace {

std::size_t size_of(const py::object& bytes) { return static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr())); }

}  // namespace

SendTaskObject::SendTaskObject(py::object endpoint, comch::SendTask& slot, py::object connection, py::bytes message)
    : TaskObject(std::move(endpoint), slot, 0),
      connection_(std::move(connection)),
      message_(std::move(message)),
      size_(size_of(message_)) {}

py::object SendTaskObject::send(ConnectionObject& connection, const py::object& data, py::object user_data,
                                bool submit) {
  connection.engine().require_thread("send");
  py::bytes message = connection.payload(data);
  comch::SendTask& slot = connection.new_slot();
  const py::object object =
      make<SendTaskObject>(connection.endpoint_ref(), slot, connection.self(), std::move(message));
  auto& task = object.cast<SendTaskObject&>();
  task.set_user_data(std::move(user_data));
  if (submit) task.submit(SubmitFlags::flush, true);
  return object;
}

void SendTaskObject::set_message(const py::object& data) {
  require_idle("set message");
  message_ = link().payload(data);
  size_ = size_of(message_);
}

void SendTaskObject::set_operands() {
  const auto* const text = reinterpret_cast<const std::byte*>(PyBytes_AS_STRING(message_.ptr()));
  const Status status = static_cast<comch::SendTask&>(*slot()).set_message({text, size_});
  if (status != Status::success) {
    raise(status, "submit " + describe() + ": " + slot()->explain(status));
  }
}

void SendTaskObject::forget_operands() noexcept { const py::object message = std::exchange(message_, py::none()); }

std::string SendTaskObject::describe() const {
  return "send of " + std::to_string(size_) + " bytes (" + link().describe_endpoint() + ")";
}

void SendTaskObject::each_reference(References& references) {
  references.keep(connection_);
  TaskObject::each_reference(references);
}

}  // namespace pydoca::bindings

#include "comch/send_task_object.hpp"

#include "comch/connection_object.hpp"
#include "convert/collectable.hpp"
#include "convert/convert.hpp"

#include <utility>

namespace pydoca::bindings {

namespace {

std::size_t size_of(const py::object& bytes) { return static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr())); }

}  // namespace

SendTaskObject::SendTaskObject(py::object endpoint, comch::SendTask& slot, py::object connection, py::bytes message)
    : TaskObject(std::move(endpoint), slot),
      connection_(std::move(connection)),
      message_(std::move(message)),
      size_(size_of(message_)) {}

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

int SendTaskObject::traverse(visitproc visit, void* arg) const {
  const int stop = visit_ref(connection_, visit, arg);
  return stop != 0 ? stop : TaskObject::traverse(visit, arg);
}

}  // namespace pydoca::bindings

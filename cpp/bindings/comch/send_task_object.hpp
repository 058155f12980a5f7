#pragma once

#include <pydoca/comch.hpp>

#include "comch/connection_object.hpp"
#include "convert/pybind.hpp"
#include "task/task_object.hpp"

#include <string>

namespace pydoca::bindings {

/// Sends one message on one connection. It has a share of the message.
class SendTaskObject final : public TaskObject {
 public:
  SendTaskObject(py::object endpoint, comch::SendTask& slot, py::object connection, py::bytes message);

  /// A task of the connection, submitted if requested. Throws the errors of ConnectionObject::new_slot().
  static py::object send(ConnectionObject& connection, const py::object& data, py::object user_data, bool submit);

  const py::object& connection() const noexcept { return connection_; }
  /// None once the task is freed.
  const py::object& message() const noexcept { return message_; }
  /// Sets the message of another submission. Throws in_use in flight, invalid_value when the message is too long.
  void set_message(const py::object& data);

  std::string describe() const override;
  /// It fails only when the connection ends.
  bool may_be_dropped() const noexcept override { return true; }
  void each_reference(References& references) override;

 protected:
  void set_operands() override;
  void forget_operands() noexcept override;

 private:
  ConnectionObject& link() const { return connection_.cast<ConnectionObject&>(); }

  py::object connection_;
  py::object message_;
  std::size_t size_;
};

}  // namespace pydoca::bindings

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
  SendTaskObject(py::object endpoint, comch::SendTask& slot) : TaskObject(std::move(endpoint), slot, 0) {}

  /// A task of the connection, submitted if requested. user_data may be null. Throws the errors of
  /// ConnectionObject::require_connected() and new_slot().
  static py::object send(ConnectionObject& connection, py::handle data, py::handle user_data, bool submit);

  /// What a call of send() gives its task.
  struct Content {
    ConnectionObject& connection;
    py::bytes message;
  };
  /// Makes it a task with this content; no other code refers to it.
  void prepare(Content&& content);

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
  std::size_t kind() const noexcept override { return 0; }
  void set_operands() override;
  void forget_operands() noexcept override;
  void clear() override;

 private:
  ConnectionObject& link() const { return connection_.cast<ConnectionObject&>(); }
  comch::SendTask& send_slot() const { return static_cast<comch::SendTask&>(*slot()); }

  py::object connection_ = py::none();
  py::object message_ = py::none();
  std::size_t size_ = 0;
};

}  // namespace pydoca::bindings

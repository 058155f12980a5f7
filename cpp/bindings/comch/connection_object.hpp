#pragma once

#include <pydoca/comch.hpp>

#include "comch/endpoint_object.hpp"
#include "convert/pybind.hpp"
#include "engine/waiting_line.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace pydoca::bindings {

/// A connection as Python has it. The engine's callbacks find it through the connection's user data word. Its endpoint
/// has a reference to it until the end of the connection is reported. It has a reference to the endpoint. Python's
/// cycle collector sees both.
///
/// Messages that no caller has received yet wait in an inbox of recv_queue_size. When the inbox is full the connection
/// is paused, so that further messages wait at the sender.
class ConnectionObject : NotCopied {
 public:
  ConnectionObject(py::object endpoint, comch::Connection& connection);
  ~ConnectionObject();
  /// The Python object of a new one.
  static py::object make(py::object endpoint, comch::Connection& connection);

  /// Null when Python has no object for it.
  static ConnectionObject* of(const comch::Connection& connection) noexcept;
  /// The Python object of this; lives at least as long as the result.
  py::object self() const { return py::reinterpret_borrow<py::object>(self_); }

  EngineObject& engine() const noexcept { return *engine_; }
  /// Python's Server or Client; None once the end was reported.
  const py::object& endpoint_ref() const noexcept { return endpoint_ref_; }
  const comch::Connection& connection() const noexcept { return *connection_; }
  bool is_connected() const noexcept { return connection_->is_connected(); }
  /// Throws connection_aborted when it was never connected.
  std::uint64_t counter(comch::Counter counter);

  /// Throws connection_reset or not_connected when the connection has ended.
  void require_connected() const {
    if (!is_connected()) [[unlikely]] {
      refuse_send(Status::not_connected);
    }
  }
  /// A slot for sending a message. Throws the engine's error.
  comch::SendTask& new_slot();
  /// The bytes of data, which cannot change, for send and for the task. Throws invalid_value when data is too long.
  py::bytes payload(py::handle data) const;
  /// An Awaitable of the next message. iterating: the end of the connection ends the iteration instead of raising.
  py::object receive(bool iterating);
  void close();

  // For NextOf, the next message. All messages that arrived come before the end.
  static constexpr std::string_view name_of_wait = "receive";
  static constexpr std::string_view call_to_wait = "recv";
  WaitingLine& line() noexcept { return receivers_; }
  std::size_t available() const noexcept;
  py::object serve(std::size_t place);
  [[noreturn]] void raise_end() const { raise_ended("receive"); }

  /// The engine's callback for messages.
  static void message_received(comch::Connection& connection, std::span<const std::byte> message,
                               std::uint64_t context_user_data) noexcept;
  // Events that the endpoint reports.
  /// The engine reports no more events of this connection.
  void end();
  /// After end(), once the program was told: its callback may still ask for the server or client.
  void forget_endpoint();
  void wake_receivers();
  bool has_messages() const noexcept { return !inbox_.empty(); }
  /// Messages that no caller has received yet.
  std::size_t num_messages() const noexcept { return inbox_.size(); }

  const py::object& user_data() const noexcept { return user_data_; }
  void set_user_data(py::object data) { user_data_ = std::move(data); }
  /// The name for messages: "comch.server \"copy\"".
  const std::string& describe_endpoint() const noexcept { return description_; }

  void each_reference(References& references);

 private:
  bool ended_here() const noexcept;
  bool lost_device() const noexcept;
  [[noreturn]] void raise_ended(std::string_view what) const;
  [[noreturn]] void refuse_send(Status status) const;
  void push(std::span<const std::byte> message);

  py::handle self_;  ///< the Python object of this, without a reference
  py::object engine_ref_;
  py::object endpoint_ref_;
  EngineObject* engine_;
  EndpointObject* endpoint_;
  std::shared_ptr<comch::Connection> connection_;
  std::string description_;
  std::deque<py::object> inbox_;
  std::size_t capacity_;
  WaitingLine receivers_;
  py::object user_data_ = py::none();
  bool closed_here_ = false;
  bool lost_device_ = false;
};

}  // namespace pydoca::bindings

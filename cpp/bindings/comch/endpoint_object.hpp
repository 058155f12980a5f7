#pragma once

#include <pydoca/comch.hpp>

#include "convert/pybind.hpp"
#include "task/context_object.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pydoca::bindings {

/// The common base of Python's Server and Client.
class EndpointObject : public ContextObject {
 public:
  /// The constructor keywords of Server and Client, beside those of every context.
  static constexpr std::string_view keywords =
      "max_msg_size=None, recv_queue_size=None, num_send_tasks=64, on_disconnect=None, on_message=None";
  EndpointObject(py::object engine, py::object device, const std::shared_ptr<comch::Endpoint>& endpoint,
                 const py::kwargs& given);

  comch::Endpoint& endpoint() const noexcept { return static_cast<comch::Endpoint&>(context()); }
  std::uint32_t num_send_tasks() const noexcept { return num_send_tasks_; }
  /// The callback that gets the messages, or None.
  const py::object& on_message() const noexcept { return on_message_; }
  /// Whether Python's stop() caused the change to idle.
  bool was_stopped() const noexcept;
  /// The name for messages: "comch.server \"copy\"".
  std::string describe() const;
  virtual void disconnect(comch::Connection& connection) = 0;

  void each_reference(References& references) override;

 protected:
  /// Call on_connect or on_disconnect.
  void tell_connected(const py::object& connection, bool successful) { tell(on_connect_, connection, successful); }
  void tell_disconnected(const py::object& connection, bool successful) {
    tell(on_disconnect_, connection, successful);
  }

 private:
  void tell(const py::object& callback, const py::object& connection, bool successful);

  py::object on_connect_;     ///< (connection, successful, context.user_data); servers only
  py::object on_disconnect_;  ///< the same parameters
  py::object on_message_;     ///< (connection, message as bytes, context.user_data); None: recv() gets the messages
  std::uint32_t num_send_tasks_ = 64;
};

}  // namespace pydoca::bindings

#pragma once

#include <pydoca/comch.hpp>

#include "convert/pybind.hpp"
#include "task/context_object.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

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
  /// The callback that gets the messages, or None.
  const py::object& on_message() const noexcept { return on_message_; }
  const py::object& on_connect() const noexcept { return on_connect_; }
  const py::object& on_disconnect() const noexcept { return on_disconnect_; }
  // Throw bad_state unless idle.
  void set_on_message(py::object callback) { set_callback(on_message_, "on_message", std::move(callback)); }
  void set_on_connect(py::object callback) { set_callback(on_connect_, "on_connect", std::move(callback)); }
  void set_on_disconnect(py::object callback) { set_callback(on_disconnect_, "on_disconnect", std::move(callback)); }
  void set_max_msg_size(py::handle bytes);
  void set_recv_queue_size(py::handle messages);
  void set_send_conf(py::object on_completion, py::object on_error, py::handle num_tasks);
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
};

}  // namespace pydoca::bindings

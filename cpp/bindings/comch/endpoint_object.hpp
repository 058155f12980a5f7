#pragma once

#include <pydoca/comch.hpp>

#include "convert/pybind.hpp"
#include "task/context_object.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace pydoca::bindings {

/// The constructor keywords of Server and Client.
struct EndpointOptions {
  ContextOptions context;
  py::object on_connect;     ///< (connection, successful, context.user_data); servers only
  py::object on_disconnect;  ///< the same parameters
  py::object on_message;     ///< (connection, message as bytes, context.user_data); None: recv() gets the messages
  std::optional<std::uint32_t> max_msg_size;
  std::optional<std::uint32_t> recv_queue_size;
  std::uint32_t num_send_tasks = 0;
};

/// The common base of Python's Server and Client.
class EndpointObject : public ContextObject {
 public:
  EndpointObject(py::object engine, py::object device, const std::shared_ptr<comch::Endpoint>& endpoint,
                 EndpointOptions options);

  /// The object of an engine's context.
  static EndpointObject& of(std::uint64_t context_user_data) noexcept;
  comch::Endpoint& endpoint() const noexcept { return static_cast<comch::Endpoint&>(context()); }
  std::uint32_t num_send_tasks() const noexcept { return options_.num_send_tasks; }
  /// The callback that gets the messages, or None.
  const py::object& on_message() const noexcept { return options_.on_message; }
  /// Whether Python's stop() caused the change to idle.
  bool was_stopped() const noexcept;
  /// The name for messages: "comch.server \"copy\"".
  std::string describe() const;
  virtual void disconnect(comch::Connection& connection) = 0;

  int traverse(visitproc visit, void* arg) const override;
  void clear() override;

 protected:
  const EndpointOptions& endpoint_options() const noexcept { return options_; }
  /// Calls on_connect or on_disconnect.
  void tell(const py::object& callback, const py::object& connection, bool successful);

 private:
  EndpointOptions options_;
};

}  // namespace pydoca::bindings

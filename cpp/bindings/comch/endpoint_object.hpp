#pragma once

#include <pydoca/comch.hpp>

#include "comch/connection_object.hpp"
#include "convert/pybind.hpp"
#include "task/context_object.hpp"
#include "task/waiting_line.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

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

  comch::Endpoint& endpoint() const noexcept { return static_cast<comch::Endpoint&>(context()); }
  std::uint32_t num_send_tasks() const noexcept { return options_.num_send_tasks; }
  /// Whether messages go to a callback.
  bool takes_messages() const noexcept { return !options_.on_message.is_none(); }
  /// Whether Python's stop() caused the change to idle.
  bool was_stopped() const noexcept;
  /// The name for messages: "comch.server \"copy\"".
  std::string describe() const;
  virtual void disconnect(comch::Connection& connection) = 0;

  int traverse(visitproc visit, void* arg) const override;
  void clear() override;

 protected:
  static EndpointObject& of(std::uint64_t context_user_data) noexcept;
  const EndpointOptions& endpoint_options() const noexcept { return options_; }
  /// Calls on_connect or on_disconnect.
  void tell(const py::object& callback, const py::object& connection, bool successful);

 private:
  static void message_received(comch::Connection& connection, std::span<const std::byte> message,
                               std::uint64_t context_user_data);

  EndpointOptions options_;
};

class ServerObject final : public EndpointObject {
 public:
  ServerObject(py::object engine, const py::object& device, py::object representor, std::string_view name,
               EndpointOptions options);

  const py::object& representor() const noexcept { return representor_; }
  py::list connections() const;
  /// An Awaitable of the next connection that is not accepted. iterating: the end of the server ends the iteration
  /// instead of raising.
  py::object accept(bool iterating);
  void disconnect(comch::Connection& connection) override;

  int traverse(visitproc visit, void* arg) const override;
  void clear() override;

 protected:
  void state_entered(ContextState state) override;

 private:
  friend class AcceptedConnection;

  static std::shared_ptr<comch::Server> create(const py::object& device, const py::object& representor,
                                               std::string_view name);
  static void connected(comch::Connection& connection, bool successful, std::uint64_t context_user_data);
  static void disconnected(comch::Connection& connection, bool successful, std::uint64_t context_user_data);
  void add(comch::Connection& connection, bool successful);
  void remove(ConnectionObject& connection);
  void forget_unaccepted(ConnectionObject& ended);
  std::size_t available() const noexcept;

  py::object representor_;
  std::vector<py::object> connections_;  ///< the connections whose end was not reported
  std::deque<py::object> unaccepted_;    ///< in the order in which they connected
  WaitingLine acceptors_;
};

/// The next connection of a server that is not accepted.
class AcceptedConnection final : public QueuedEvent {
 public:
  AcceptedConnection(ServerObject& server, bool iterating);
  std::string_view what() const override { return "accept"; }

 protected:
  std::size_t available() override { return server_.available(); }
  py::object serve(std::size_t place) override;

 private:
  ServerObject& server_;
  bool iterating_;
};

class ClientObject final : public EndpointObject {
 public:
  ClientObject(py::object engine, const py::object& device, std::string_view name, EndpointOptions options);

  /// Throws bad_state unless running.
  py::object connection() const;
  void disconnect(comch::Connection& connection) override;
  /// A connection is returned even if it has ended meanwhile: messages of it may wait.
  py::object entered() override;

  int traverse(visitproc visit, void* arg) const override;
  void clear() override;

 protected:
  void state_entered(ContextState state) override;

 private:
  static std::shared_ptr<comch::Client> create(const py::object& device, std::string_view name);

  comch::Client& client() const noexcept { return static_cast<comch::Client&>(context()); }
  py::object connection_ = py::none();  ///< those of this run
};

}  // namespace pydoca::bindings

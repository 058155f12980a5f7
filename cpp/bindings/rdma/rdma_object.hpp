#pragma once

#include <pydoca/rdma.hpp>

#include "convert/pybind.hpp"
#include "engine/waiting_line.hpp"
#include "rdma/rdma_connection_object.hpp"
#include "rdma/rdma_task_object.hpp"
#include "task/context_object.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pydoca::bindings {

/// The constructor keywords of an Rdma for its connections; None when the caller wants none.
struct RdmaCallbacks {
  py::object on_request;      ///< (connection, context.user_data); None: listen() gets the requests
  py::object on_established;  ///< (connection, connection.user_data, context.user_data)
  py::object on_failure;      ///< the same parameters
  py::object on_disconnect;   ///< the same parameters
};

/// Python's Rdma.
class RdmaObject final : public ContextObject {
 public:
  /// The constructor keywords, beside those of every context.
  static constexpr std::string_view keywords =
      "on_request=None, on_established=None, on_failure=None, on_disconnect=None";
  /// num_tasks: an int for each kind that the device has, or a dict by name. given: callbacks, and settings by DOCA's
  /// names; None means the default.
  RdmaObject(py::object engine, const py::object& device, const py::object& num_tasks, const py::kwargs& given);

  Rdma& rdma() const noexcept { return static_cast<Rdma&>(context()); }
  const RdmaCallbacks& connection_callbacks() const noexcept { return callbacks_; }
  // Throw bad_state unless idle.
  void set_connection_callback(py::object RdmaCallbacks::* which, const char* name, py::object callback) {
    set_callback(callbacks_.*which, name, std::move(callback));
  }
  void set_setting(const char* name, py::handle value);
  void set_conf(const std::string& kind, py::object on_completion, py::object on_error, py::handle num_tasks);
  /// The connections whose end was not reported.
  std::vector<py::object> connections() const;

  /// A connection that will be connected by details.
  py::object export_connection();
  /// An Awaitable of a connection to the peer that listens there. Giving it up ends the attempt.
  py::object connect(const std::string& address, std::uint16_t port, const py::object& type,
                     const py::object& private_data, py::object user_data);
  py::object listen(std::uint16_t port);
  void stop_listening(std::uint16_t port);

  /// A slot for a task of that kind, without operands. Throws the reason when there is none.
  RdmaTask& new_slot(RdmaTaskKind kind, const py::object& connection);

  void each_reference(References& references) override;

 protected:
  void state_entered(ContextState state) override;

 private:
  friend class RdmaListenerObject;

  static std::shared_ptr<Rdma> create(const py::object& device, const py::object& num_tasks, const py::kwargs& given);
  static void requested(RdmaConnection& connection, std::uint64_t context_user_data) noexcept;
  static void established(RdmaConnection& connection, std::uint64_t connection_user_data,
                          std::uint64_t context_user_data) noexcept;
  static void failed(RdmaConnection& connection, std::uint64_t connection_user_data,
                     std::uint64_t context_user_data) noexcept;
  static void disconnected(RdmaConnection& connection, std::uint64_t connection_user_data,
                           std::uint64_t context_user_data) noexcept;

  py::object add(const std::shared_ptr<RdmaConnection>& connection);
  void take_request(const py::object& connection);
  void remove(RdmaConnection& connection, const py::object& callback);
  void tell(const py::object& callback, const py::object& connection);
  /// Drops connections that ended without a report: requests that were rejected or given up.
  void forget_closed();
  /// Drops requests whose peers have given up, or that were answered before their turn.
  void forget_withdrawn();
  /// Rejects every request that no listener will take.
  void drop_requests();

  RdmaCallbacks callbacks_;
  std::vector<py::object> connections_;
  std::deque<py::object> requests_;  ///< requests that no listener has taken yet
  std::size_t num_listeners_ = 0;
  std::uint64_t run_ = 0;  ///< the number of stops; a stop ends listeners
  WaitingLine takers_;
};

/// A port on which an Rdma listens. Listeners get the requests of all ports in the order in which they came.
class RdmaListenerObject : NotCopied {
 public:
  RdmaListenerObject(py::object rdma, std::uint16_t port);
  /// Closes the port, unless requests go to a callback.
  ~RdmaListenerObject();

  std::uint16_t port() const noexcept { return port_; }
  bool is_closed() const noexcept;
  /// An Awaitable of the next request. iterating: the end of the listener ends the iteration instead of raising.
  py::object request(bool iterating);
  /// Idempotent. Closing the last listener rejects the requests that were not taken.
  void close();
  void enter() const;

  // For NextOf, the next connection request.
  static constexpr std::string_view name_of_wait = "listen";
  static constexpr std::string_view call_to_wait = "request";
  EngineObject& engine() const noexcept { return rdma_->engine(); }
  WaitingLine& line() noexcept { return rdma_->takers_; }
  std::size_t available();
  py::object serve(std::size_t place) { return is_closed() ? py::object() : take_at(rdma_->requests_, place); }
  [[noreturn]] void raise_end() const;

  void each_reference(References& references) { references.keep(rdma_ref_); }

 private:
  py::object rdma_ref_;
  RdmaObject* rdma_;
  std::uint16_t port_;
  std::uint64_t run_;  ///< the context's number of stops, when the listener began
  bool closed_ = false;
};

}  // namespace pydoca::bindings

#pragma once

#include <pydoca/rdma.hpp>

#include "convert/pybind.hpp"
#include "engine/awaitable.hpp"
#include "task/context_object.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace pydoca::bindings {

/// A connection as Python has it. The engine's callbacks find it through the connection's user data word. Its context
/// has a reference to it until the end of the connection is reported. It has a reference to the context.
class RdmaConnectionObject : NotCopied {
 public:
  RdmaConnectionObject(py::object rdma, std::shared_ptr<RdmaConnection> connection);
  ~RdmaConnectionObject();

  /// Null when Python has no object for it.
  static RdmaConnectionObject* of(const RdmaConnection& connection) noexcept;
  py::object self();

  EngineObject& engine() const noexcept { return *engine_; }
  const py::object& rdma_ref() const noexcept { return rdma_ref_; }
  const RdmaConnection& connection() const noexcept { return *connection_; }
  const std::shared_ptr<RdmaConnection>& shared() const noexcept { return connection_; }
  bool was_established() const noexcept { return established_; }
  /// Whether the engine reports no more events of it.
  bool has_ended() const noexcept { return ended_ || connection_->state() == RdmaConnection::State::closed; }

  /// Connects to the peer that exported these details.
  void connect(const py::object& details);
  /// Throws not_connected when it has ended, and as the engine's require_thread() does.
  void require_connectable() const;
  /// Returns an Awaitable of the connection, once established.
  py::object accept(const py::object& private_data);
  void reject();
  /// Returns an Awaitable of the end. Does nothing else unless there is a connection to end.
  py::object disconnect();
  py::object established(bool given_up_with_it = false);
  py::object ended();

  /// Python's Rdma, for a task of that kind. Throws not_connected once the end was reported.
  py::object rdma_for(RdmaTaskKind kind) const;

  // Events that the engine reports.
  void report_established();
  void end();
  /// Throws the reason why it was not established.
  [[noreturn]] void raise_failure() const;

  Waiters& waiters() noexcept { return waiters_; }
  const py::object& user_data() const noexcept { return user_data_; }
  void set_user_data(py::object data) { user_data_ = std::move(data); }
  std::string describe() const;

  void each_reference(References& references);

 private:
  void require_thread(std::string_view what) const;

  py::object engine_ref_;
  py::object rdma_ref_;
  EngineObject* engine_;
  std::shared_ptr<RdmaConnection> connection_;
  Waiters waiters_;
  py::object user_data_ = py::none();
  std::string address_;
  bool established_ = false;
  bool ended_ = false;
};

/// A connection, once it is established, or the reason why it was not.
class EstablishedConnection final : public Awaitable {
 public:
  /// given_up_with_it: giving up the wait also gives up the connection.
  EstablishedConnection(py::object connection, bool given_up_with_it);
  EngineObject& engine() override { return connection_.engine(); }
  Waiters& waiters() override { return connection_.waiters(); }
  bool ready() override { return connection_.was_established() || connection_.has_ended(); }
  py::object take() override;
  void give_up() override;
  std::string_view what() const override { return "connect"; }
  const py::object& connection() const noexcept { return connection_ref_; }
  void each_reference(References& references) const { references.keep(connection_ref_); }

 private:
  py::object connection_ref_;
  RdmaConnectionObject& connection_;
  bool given_up_with_it_;
};

/// The end of a connection.
class EndedConnection final : public Awaitable {
 public:
  /// ended_by_call: the call that made this ends the connection; it need not be awaited.
  EndedConnection(py::object connection, bool ended_by_call);
  EngineObject& engine() override { return connection_.engine(); }
  Waiters& waiters() override { return connection_.waiters(); }
  bool ready() override { return connection_.has_ended(); }
  py::object take() override { return py::none(); }
  std::string_view what() const override { return "disconnect"; }
  std::string_view call_without_effect() const noexcept override { return ended_by_call_ ? "" : "ended"; }
  void each_reference(References& references) const { references.keep(connection_ref_); }

 private:
  py::object connection_ref_;
  RdmaConnectionObject& connection_;
  bool ended_by_call_;
};

}  // namespace pydoca::bindings

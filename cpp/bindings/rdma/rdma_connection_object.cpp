#include "rdma/rdma_connection_object.hpp"

#include "convert/convert.hpp"
#include "convert/python.hpp"
#include "convert/view.hpp"
#include "loop/blocking_call.hpp"

#include <utility>

namespace pydoca::bindings {

using State = RdmaConnection::State;

RdmaConnectionObject::RdmaConnectionObject(py::object rdma, std::shared_ptr<RdmaConnection> connection)
    : rdma_ref_(std::move(rdma)), connection_(std::move(connection)) {
  auto& context = rdma_ref_.cast<ContextObject&>();
  engine_ref_ = context.engine_ref();
  engine_ = &context.engine();
  connection_->set_user_data(reinterpret_cast<std::uintptr_t>(this));
}

RdmaConnectionObject::~RdmaConnectionObject() { connection_->set_user_data(0); }

RdmaConnectionObject* RdmaConnectionObject::of(const RdmaConnection& connection) noexcept {
  return reinterpret_cast<RdmaConnectionObject*>(static_cast<std::uintptr_t>(connection.user_data()));
}

py::object RdmaConnectionObject::self() { return py::cast(this); }

std::string RdmaConnectionObject::describe() const { return "rdma connection " + std::to_string(connection_->id()); }

void RdmaConnectionObject::require_thread(std::string_view what) const {
  engine_->require_thread(std::string(what) + " " + describe());
}

void RdmaConnectionObject::require_connectable() const {
  require_thread("connect");
  if (has_ended()) {
    raise(Status::not_connected, "connect " + describe() + ": it has ended; make another with Rdma.export()");
  }
}

void RdmaConnectionObject::connect(const py::object& details) {
  require_connectable();
  const std::vector<std::byte> blob = copy_of(details, "details");
  auto& rdma = static_cast<Rdma&>(rdma_ref_.cast<ContextObject&>().context());
  // Releases the GIL: the peer may be in this process and need the GIL to answer.
  call_blocking([&] { rdma.connect(blob, *connection_); });
  engine_->settle();
  drain_log();
}

py::object RdmaConnectionObject::accept(const py::object& private_data) {
  require_thread("accept");
  connection_->accept(copy_of(private_data, "private data"));
  engine_->settle();
  return established();
}

void RdmaConnectionObject::reject() {
  require_thread("reject");
  connection_->reject();
  engine_->settle();
}

py::object RdmaConnectionObject::disconnect() {
  const State state = connection_->state();
  if (!engine_->is_forked() &&
      (state == State::exported || state == State::established || state == State::connecting)) {
    require_thread("disconnect");
    connection_->disconnect();
    if (state == State::exported) end();
    engine_->settle();
  }
  return py::cast(std::make_shared<EndedConnection>(self(), true));
}

py::object RdmaConnectionObject::established(bool given_up_with_it) {
  return py::cast(std::make_shared<EstablishedConnection>(self(), given_up_with_it));
}

py::object RdmaConnectionObject::ended() { return py::cast(std::make_shared<EndedConnection>(self(), false)); }

py::object RdmaConnectionObject::rdma_for(RdmaTaskKind kind) const {
  if (rdma_ref_.is_none()) {
    raise(Status::not_connected, "rdma " + std::string(name_of(kind)) + ": " + describe() + " has ended; make another");
  }
  return rdma_ref_;
}

void RdmaConnectionObject::report_established() {
  established_ = true;
  waiters_.wake(*engine_, py::none());
}

void RdmaConnectionObject::end() {
  ended_ = true;
  waiters_.wake(*engine_, py::none());
  const py::object rdma = std::exchange(rdma_ref_, py::none());
}

void RdmaConnectionObject::raise_failure() const {
  const Status failure = connection_->failure();
  const std::string what = "connect (" + describe() + "): ";
  switch (failure) {
    case Status::success:
      raise(Status::shutdown, what + "this side ended it before it was established");
    case Status::connection_aborted:
      raise(failure, what + "the peer has rejected it, or is gone");
    case Status::connection_reset:
      raise(failure, what + "the peer was gone before it answered");
    case Status::not_found:
      raise(failure, what + "no peer listens there: is the other side started, and is the port the right one?");
    case Status::time_out:
      raise(failure, what + "no answer in time (connection_request_timeout)");
    default:
      raise(failure, what + std::string(error_descr(failure)));
  }
}

void RdmaConnectionObject::each_reference(References& references) {
  references.keep(engine_ref_, rdma_ref_);
  references.drop(user_data_);
  waiters_.each_reference(references);
}

EstablishedConnection::EstablishedConnection(py::object connection, bool given_up_with_it)
    : connection_ref_(std::move(connection)),
      connection_(connection_ref_.cast<RdmaConnectionObject&>()),
      given_up_with_it_(given_up_with_it) {}

py::object EstablishedConnection::take() {
  if (!connection_.was_established()) {
    connection_.raise_failure();
  }
  return connection_ref_;
}

void EstablishedConnection::give_up() {
  if (given_up_with_it_ && !ready() && connection_.waiters().empty()) {
    connection_.disconnect();
  }
}

EndedConnection::EndedConnection(py::object connection, bool ended_by_call)
    : connection_ref_(std::move(connection)),
      connection_(connection_ref_.cast<RdmaConnectionObject&>()),
      ended_by_call_(ended_by_call) {}

}  // namespace pydoca::bindings

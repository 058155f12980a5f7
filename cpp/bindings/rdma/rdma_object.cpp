#include "rdma/rdma_object.hpp"

#include "call/keywords.hpp"
#include "convert/convert.hpp"
#include "convert/view.hpp"
#include "loop/blocking_call.hpp"
#include "memory/mmap_object.hpp"
#include "rdma/rdma_settings.hpp"

#include <algorithm>
#include <utility>

namespace pydoca::bindings {

namespace {

static_assert(num_rdma_task_kinds <= ContextTasks::num_kinds);

RdmaAddress to_address(const std::string& address, std::uint16_t port, const py::object& type) {
  const RdmaAddressType guessed =
      address.find(':') != std::string::npos ? RdmaAddressType::ipv6 : RdmaAddressType::ipv4;
  return RdmaAddress::create(type.is_none() ? guessed : to_address_type(type), address, port);
}

/// A slot without operands; each submission sets them before.
Status take_slot(Rdma& rdma, RdmaTaskKind kind, RdmaConnection& connection, RdmaTask*& slot) {
  switch (kind) {
    case RdmaTaskKind::receive:
      return rdma.receive(nullptr, 0, slot);  // a receive needs no connection
    case RdmaTaskKind::send:
      return rdma.send(connection, nullptr, 0, slot);
    case RdmaTaskKind::send_imm:
      return rdma.send_imm(connection, nullptr, 0, 0, slot);
    case RdmaTaskKind::read:
      return rdma.read(connection, nullptr, nullptr, 0, slot);
    case RdmaTaskKind::write:
      return rdma.write(connection, nullptr, nullptr, 0, slot);
    case RdmaTaskKind::write_imm:
      return rdma.write_imm(connection, nullptr, nullptr, 0, 0, slot);
    case RdmaTaskKind::atomic_cmp_swp:
      return rdma.atomic_cmp_swp(connection, nullptr, nullptr, 0, 0, 0, slot);
    case RdmaTaskKind::atomic_fetch_add:
      return rdma.atomic_fetch_add(connection, nullptr, nullptr, 0, 0, slot);
    case RdmaTaskKind::remote_net_sync_event_get:
      return rdma.remote_net_sync_event_get(connection, nullptr, nullptr, 0, slot);
    case RdmaTaskKind::remote_net_sync_event_notify_set:
      return rdma.remote_net_sync_event_notify_set(connection, nullptr, nullptr, 0, slot);
    case RdmaTaskKind::remote_net_sync_event_notify_add:
      return rdma.remote_net_sync_event_notify_add(connection, nullptr, nullptr, 0, 0, slot);
  }
  return Status::invalid_value;
}

}  // namespace

std::shared_ptr<Rdma> RdmaObject::create(const py::object& device, const py::object& num_tasks,
                                         const py::kwargs& given) {
  std::shared_ptr<Rdma> rdma = Rdma::create(to_device(device).get());
  configure_tasks(*rdma, num_tasks);
  apply_settings(*rdma, given);
  rdma->set_connection_state_callbacks(requested, established, failed, disconnected);
  return rdma;
}

RdmaObject::RdmaObject(py::object engine, const py::object& device, const py::object& num_tasks,
                       const py::kwargs& given)
    : ContextObject(std::move(engine), device, create(device, num_tasks, given), ContextOptions::of(given)),
      callbacks_{callback(given, "on_request"), callback(given, "on_established"), callback(given, "on_failure"),
                 callback(given, "on_disconnect")} {}

void RdmaObject::set_setting(const char* name, py::handle value) {
  require_thread(std::string("set ") + name);
  apply_setting(rdma(), name, value);
}

void RdmaObject::set_conf(const std::string& kind, py::object on_completion, py::object on_error,
                          py::handle num_tasks) {
  const RdmaTaskKind task = to_rdma_task(kind);
  ContextObject::set_conf(
      static_cast<std::size_t>(task), {std::move(on_completion), std::move(on_error)}, num_tasks,
      [&](std::uint32_t count) { rdma().set_conf(task, TaskObject::on_complete, TaskObject::on_complete, count); });
}

py::object RdmaObject::add(const std::shared_ptr<RdmaConnection>& connection) {
  forget_closed();
  const py::object object = py::cast(std::make_shared<RdmaConnectionObject>(self(), connection));
  connections_.push_back(object);
  return object;
}

std::vector<py::object> RdmaObject::connections() const {
  std::vector<py::object> open;
  for (const py::object& connection : connections_) {
    if (!connection.cast<RdmaConnectionObject&>().has_ended()) open.push_back(connection);
  }
  return open;
}

void RdmaObject::forget_closed() {
  std::vector<py::object> closed;
  for (const py::object& connection : connections_) {
    if (connection.cast<RdmaConnectionObject&>().has_ended()) closed.push_back(connection);
  }
  for (const py::object& connection : closed) {
    connection.cast<RdmaConnectionObject&>().end();
    std::erase_if(connections_, [&](const py::object& other) { return other.is(connection); });
  }
}

py::object RdmaObject::export_connection() {
  require_thread("export a connection");
  return add(rdma().export_connection());
}

py::object RdmaObject::connect(const std::string& address, std::uint16_t port, const py::object& type,
                               const py::object& private_data, py::object user_data) {
  require_thread("connect");
  const std::vector<std::byte> data = copy_of(private_data, "private data");
  const py::object connection = add(rdma().connect_to_addr(to_address(address, port, type), 0, data));
  auto& made = connection.cast<RdmaConnectionObject&>();
  made.set_user_data(std::move(user_data));
  engine().settle();
  return made.established(true);
}

py::object RdmaObject::listen(std::uint16_t port) {
  require_thread("listen");
  call_blocking(
      [&] { rdma().start_listen_to_port(port); });  // a stopped process may keep the fabric's directory locked
  ++num_listeners_;
  engine().settle();
  return py::cast(std::make_shared<RdmaListenerObject>(self(), port));
}

void RdmaObject::stop_listening(std::uint16_t port) {
  require_thread("stop listening");
  rdma().stop_listen_to_port(port);
  if (num_listeners_ != 0 && --num_listeners_ == 0) {
    drop_requests();
  }
  takers_.wake(engine(), WaitingLine::unlimited);
  engine().settle();
}

void RdmaObject::drop_requests() {
  for (const py::object& request : std::exchange(requests_, {})) {
    auto& connection = request.cast<RdmaConnectionObject&>();
    if (connection.connection().state() == RdmaConnection::State::requested) connection.shared()->reject();
  }
}

void RdmaObject::forget_withdrawn() {
  std::erase_if(requests_, [](const py::object& request) {
    return request.cast<RdmaConnectionObject&>().connection().state() != RdmaConnection::State::requested;
  });
}

void RdmaObject::requested(RdmaConnection& connection, std::uint64_t context_user_data) noexcept {
  auto& self = of<RdmaObject>(context_user_data);
  self.guard([&] { self.take_request(self.add(connection.shared_from_this())); });
}

void RdmaObject::take_request(const py::object& connection) {
  if (!callbacks_.on_request.is_none()) {
    engine().call(callbacks_.on_request, self(), connection, user_data());
    return;
  }
  requests_.push_back(connection);
  takers_.wake(engine(), requests_.size());
}

void RdmaObject::established(RdmaConnection& connection, std::uint64_t, std::uint64_t context_user_data) noexcept {
  auto& self = of<RdmaObject>(context_user_data);
  RdmaConnectionObject* const object = RdmaConnectionObject::of(connection);
  if (object == nullptr) {
    return;
  }
  self.guard([&] {
    object->report_established();
    self.tell(self.callbacks_.on_established, object->self());
  });
}

void RdmaObject::failed(RdmaConnection& connection, std::uint64_t, std::uint64_t context_user_data) noexcept {
  auto& self = of<RdmaObject>(context_user_data);
  self.guard([&] { self.remove(connection, self.callbacks_.on_failure); });
}

void RdmaObject::disconnected(RdmaConnection& connection, std::uint64_t, std::uint64_t context_user_data) noexcept {
  auto& self = of<RdmaObject>(context_user_data);
  self.guard([&] { self.remove(connection, self.callbacks_.on_disconnect); });
}

void RdmaObject::remove(RdmaConnection& connection, const py::object& callback) {
  RdmaConnectionObject* const ended = RdmaConnectionObject::of(connection);
  if (ended == nullptr) {
    return;
  }
  const py::object object = ended->self();
  const auto wanted = py::reinterpret_borrow<py::object>(callback);  // the callback may replace itself meanwhile
  ended->end();
  std::erase_if(connections_, [&](const py::object& other) { return other.is(object); });
  tell(wanted, object);
}

void RdmaObject::tell(const py::object& callback, const py::object& connection) {
  if (!callback.is_none()) {
    engine().call(callback, self(), connection, connection.cast<RdmaConnectionObject&>().user_data(), user_data());
  }
}

void RdmaObject::state_entered(ContextState state) {
  if (state == ContextState::stopping || state == ContextState::idle) {
    ++run_;
    num_listeners_ = 0;
    const std::deque<py::object> requests = std::exchange(requests_, {});
    takers_.wake(engine(), WaitingLine::unlimited);
  }
  if (state == ContextState::idle) {
    for (const py::object& connection : std::exchange(connections_, {})) {
      connection.cast<RdmaConnectionObject&>().end();
    }
  }
}

RdmaTask& RdmaObject::new_slot(RdmaTaskKind kind, const py::object& connection) {
  RdmaTask* slot = nullptr;
  const Status status = allocate_slot([&] {
    return kind == RdmaTaskKind::receive
               ? rdma().receive(nullptr, 0, slot)
               : take_slot(rdma(), kind, *connection.cast<RdmaConnectionObject&>().shared(), slot);
  });
  if (status != Status::success) refuse_task(status, static_cast<std::size_t>(kind), name_of(kind));
  return *slot;
}

void RdmaObject::each_reference(References& references) {
  references.drop(callbacks_.on_request, callbacks_.on_established, callbacks_.on_failure, callbacks_.on_disconnect);
  references.drop_all(connections_);
  references.drop_all(requests_);
  ContextObject::each_reference(references);
}

RdmaListenerObject::RdmaListenerObject(py::object rdma, std::uint16_t port)
    : rdma_ref_(std::move(rdma)), rdma_(&rdma_ref_.cast<RdmaObject&>()), port_(port), run_(rdma_->run_) {}

RdmaListenerObject::~RdmaListenerObject() {
  // A port with on_request stays open until the listener is closed, or the context stops.
  if (is_closed() || !rdma_->callbacks_.on_request.is_none()) {
    return;
  }
  const py::error_scope error;
  try {
    close();
  } catch (py::error_already_set& raised) {
    raised.discard_as_unraisable("a pydoca.RdmaListener that is dropped in another thread");
  } catch (const std::exception&) {
    // The context has stopped since, which closed the port; or it finds no memory, and the port stays open until then.
  }
}

bool RdmaListenerObject::is_closed() const noexcept { return closed_ || run_ != rdma_->run_; }

py::object RdmaListenerObject::request(bool iterating) {
  if (!rdma_->callbacks_.on_request.is_none()) {
    raise(Status::bad_state, "listen: requests go to on_request; set that to None, while the context is IDLE");
  }
  return NextOf<RdmaListenerObject>::make(py::cast(this), *this, iterating);
}

void RdmaListenerObject::close() {
  if (is_closed() || rdma_->engine().is_forked()) {
    return;
  }
  rdma_->engine().require_thread("stop listening");
  closed_ = true;
  rdma_->stop_listening(port_);
}

void RdmaListenerObject::enter() const {
  if (is_closed()) {
    raise(Status::bad_state, "listen: port " + std::to_string(port_) + " was closed; listen again");
  }
}

std::size_t RdmaListenerObject::available() {
  rdma_->forget_withdrawn();
  return is_closed() ? WaitingLine::unlimited : rdma_->requests_.size();
}

void RdmaListenerObject::raise_end() const {
  raise(Status::shutdown, "listen: port " + std::to_string(port_) + " was closed");
}

}  // namespace pydoca::bindings

#include "library/rdma/rdma.hpp"

#include "pydoca/backend/device.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/log.hpp"
#include "pydoca/progress_engine.hpp"

#include "core/task_pool.hpp"
#include "detail/concat.hpp"
#include "library/rdma/rdma_connection.hpp"
#include "library/rdma/rdma_task.hpp"

#include <algorithm>
#include <bit>
#include <sys/epoll.h>
#include <utility>

namespace pydoca {

namespace {

using detail::concat;

/// A busy context checks for connection events once in this many completions.
constexpr std::uint32_t completions_between_events = 64;

/// What the device did wrong, or was asked to; not what a peer did, nor what follows from another task's failure.
bool is_fatal(RdmaTaskKind kind, Status status) noexcept {
  return status == Status::driver ||
         (kind != RdmaTaskKind::receive && status != Status::shutdown && status != Status::connection_reset);
}

}  // namespace

library::Rdma::Rdma(std::shared_ptr<Device> device) : RdmaOwner(std::move(device), std::size_t{num_rdma_task_kinds}) {
  trace_messages();
  static_cast<void>(max_message_size(this->device()->info()));  // throws without RDMA
  options_.gid_index = this->device()->info().capabilities().rdma->default_gid_index;
}

std::shared_ptr<Rdma> Rdma::create(std::shared_ptr<Device> device) {
  return detail::make_context<library::Rdma>(std::move(device));
}

library::Rdma::~Rdma() {
  abandon();
  for (const auto& connection : connections_) {
    of(*connection).end();  // a forked child does it as well: a handle that outlives this must not point here
  }
}

void library::Rdma::settle_sizes() {
  std::uint64_t sends = 0;
  for (std::size_t kind = 0; kind < num_rdma_task_kinds; ++kind) {
    sends += detail::ContextTasks::pool(*this, kind).num_tasks();
  }
  const std::uint32_t receives = num_tasks(RdmaTaskKind::receive);
  const std::uint64_t most = max_send_queue_size(device()->info());
  options_.send_queue_size = wanted_send_queue_size_;
  if (wanted_send_queue_size_ == 0) {
    options_.send_queue_size =
        static_cast<std::uint32_t>(std::min(most, std::bit_ceil(std::max<std::uint64_t>(sends - receives, 1))));
  }
  options_.recv_queue_size = receives != 0 ? std::bit_ceil(receives) : 0;
}

Status library::Rdma::begin() {
  settle_sizes();
  detail::ContextTasks::open<RdmaTask>(*this);
  event_ = std::make_unique<backend::RdmaEvent>();
  connections_.reserve(options_.max_num_connections);
  open_queue(device()->backend().create_rdma_queue(options_, *this), true);
  if (rdma_queue().event_fd() >= 0) {
    progress_engine()->watch(rdma_queue().event_fd(), EPOLLIN, *this);
    events_watched_ = true;
  }
  return Status::success;
}

void library::Rdma::close_connections(Status why) noexcept {
  for (const auto& connection : connections_) {
    of(*connection).begin_close(why);
  }
}

void library::Rdma::quiesce() noexcept {
  for (const std::uint16_t port : std::exchange(ports_, {})) {
    rdma_queue().stop_listening(port);
  }
  close_connections(failure() == Status::driver ? Status::driver : Status::success);
  QueueContext::quiesce();
}

void library::Rdma::end() noexcept {
  if (queue() != nullptr) {
    close_connections(Status::success);
    reclaim_tasks();
  }
  if (std::exchange(events_watched_, false)) {
    progress_engine()->unwatch(rdma_queue().event_fd());
  }
  for (const auto& connection : connections_) {
    of(*connection).end();
  }
  connections_.clear();
  ports_.clear();
  reports_due_ = false;
  close_queue();
}

std::shared_ptr<library::RdmaConnection> library::Rdma::add(std::unique_ptr<backend::QueuePair> queue_pair,
                                                            pydoca::RdmaConnection::State state) {
  auto connection = std::make_shared<RdmaConnection>(*this, next_id_, std::move(queue_pair), state);
  connections_.push_back(connection);  // there is room: see begin()
  ++next_id_;
  return connection;
}

std::shared_ptr<RdmaConnection> Rdma::export_connection() {
  library::Rdma& own = library::of(*this);
  own.require_room("export a connection", Status::full);
  std::unique_ptr<backend::QueuePair> queue_pair = own.rdma_queue().create_queue_pair();
  std::vector<std::byte> details = queue_pair->describe();
  const auto connection = own.add(std::move(queue_pair), RdmaConnection::State::exported);
  connection->details_ = std::move(details);
  return connection;
}

void Rdma::connect(std::span<const std::byte> details, RdmaConnection& connection) {
  library::of(*this).require_running("connect");
  if (connection.rdma() != this) {
    throw Error(Status::invalid_value, concat("connect: connection ", connection.id(), " is ",
                                              connection.rdma() == nullptr ? "closed" : "another context's"));
  }
  library::of(connection).connect(details, nullptr);
}

namespace {

void require_connection_manager(std::string_view what, const DeviceInfo& info) {
  if (!Rdma::is_connection_manager_supported(info)) {
    throw Error(Status::not_supported, concat(what, ": ", info.capabilities().rdma->no_connection_manager));
  }
}

}  // namespace

void Rdma::start_listen_to_port(std::uint16_t port) {
  library::Rdma& own = library::of(*this);
  own.require_running("listen");
  require_connection_manager("listen", device()->info());
  if (port == 0 || own.requested_ == nullptr) {
    throw Error(Status::invalid_value,
                port == 0 ? "listen: port 0 cannot be used; ports are 1..65535"
                          : "listen: requests need a callback; give one (set_connection_state_callbacks)");
  }
  if (std::ranges::find(own.ports_, port) != own.ports_.end()) {
    throw Error(Status::bad_state, concat("listen: this context listens to port ", port, " already"));
  }
  own.ports_.reserve(own.ports_.size() + 1);
  try {
    own.rdma_queue().listen(port);
  } catch (const Error& error) {
    // DOCA's listen has no code of its own for a port that is in use elsewhere.
    throw Error(error.status() == Status::already_exist ? Status::connection_aborted : error.status(), error.what());
  }
  own.ports_.push_back(port);
}

void Rdma::stop_listen_to_port(std::uint16_t port) {
  library::Rdma& own = library::of(*this);
  own.require_running("stop listening");
  if (std::erase(own.ports_, port) == 0) {
    throw Error(Status::invalid_value, concat("stop listening: this context does not listen to port ", port));
  }
  own.rdma_queue().stop_listening(port);
}

std::shared_ptr<RdmaConnection> Rdma::connect_to_addr(const RdmaAddress& address, std::uint64_t connection_user_data,
                                                      std::span<const std::byte> private_data) {
  library::Rdma& own = library::of(*this);
  own.require_room("connect to an address", Status::connection_aborted);
  require_connection_manager("connect to an address", device()->info());
  const backend::RdmaAddress peer{.type = address.type(), .raw = address.raw(), .port = address.port()};
  const auto connection = own.add(own.rdma_queue().connect_to(peer, private_data), RdmaConnection::State::connecting);
  connection->addr_ = address;
  connection->set_user_data(connection_user_data);
  return connection;
}

const std::vector<std::shared_ptr<RdmaConnection>>& Rdma::connections() const noexcept {
  return library::of(*this).connections_;
}

inline bool library::Rdma::complete_one(bool& more) noexcept {
  backend::Operation* const operation = queue()->poll(more);
  if (operation == nullptr) {
    return false;
  }
  ++completed_since_event_;
  if (reports_due_) [[unlikely]] {
    more = true;  // it notified once, and would wait for the next notification
  }
  auto& task = static_cast<RdmaTask&>(static_cast<backend::RdmaOperation&>(*operation));
  announce_connection_of(task);
  if (operation->outcome == Status::success) [[likely]] {
    complete_as(task, Status::success, false);
  } else {
    complete_failed(task);
  }
  return true;
}

void library::Rdma::complete_failed(RdmaTask& task) noexcept {
  const Status status = task.outcome;
  const bool fatal = is_fatal(task.kind(), status);
  if (fatal && task.connection() != nullptr) {
    of(*task.connection()).begin_close(status);  // else the context's stop would close it without a reason
  }
  complete_as(task, status, fatal);
}

/// A program hears that a connection is established before it hears of a completion on it.
inline void library::Rdma::announce_connection_of(const RdmaTask& task) noexcept {
  pydoca::RdmaConnection* connection = task.connection().get();
  // A receive has a connection once a message has filled it; after a failure its queue pair says nothing.
  if (connection == nullptr && task.outcome == Status::success && task.queue_pair != nullptr) {
    connection = static_cast<RdmaConnection*>(task.queue_pair->owner);
  }
  if (connection != nullptr && !of(*connection).announced_) [[unlikely]] {
    announce(of(*connection));
  }
}

void library::Rdma::announce(RdmaConnection& connection) noexcept {
  const auto kept = connection.shared_from_this();  // a callback may end it
  while (!connection.announced_ && !connection.was_established() && take_event()) {
  }
  if (!connection.announced_ && connection.was_established()) {
    report_established(connection);
  }
}

inline bool library::Rdma::poll_one(bool& more) noexcept {
  stop_dozing();  // polling disarms the queue
  const bool event_due = completed_since_event_ >= completions_between_events;
  return (event_due && deliver_event(more)) || complete_one(more) || deliver_event(more);
}

bool library::Rdma::progress_one(bool& more) noexcept {
  if (is_live() && poll_one(more)) [[likely]] {
    return true;
  }
  return finish_stopping(more);
}

Task& library::Rdma::task_of(backend::Operation& operation) const noexcept {
  return static_cast<RdmaTask&>(static_cast<backend::RdmaOperation&>(operation));
}

void library::Rdma::silence() noexcept {
  QueueContext::silence();
  requested_ = [](pydoca::RdmaConnection&, std::uint64_t) noexcept {};
  established_ = failed_ = disconnected_ = nullptr;
}

bool library::Rdma::deliver_event(bool& more) noexcept {
  completed_since_event_ = 0;
  more = (reports_due_ && report_one()) || take_event();
  return more;
}

bool library::Rdma::report_one() noexcept {
  for (const auto& held : connections_) {
    const std::shared_ptr<pydoca::RdmaConnection> kept = held;  // the callback may change the list
    RdmaConnection& connection = of(*kept);
    if (!connection.announced_ && connection.was_established()) {
      report_established(connection);
      return true;
    }
    if (connection.state() == RdmaConnection::State::closing && connection.outstanding_ == 0) {
      report_end(connection);
      return true;
    }
  }
  reports_due_ = false;
  return false;
}

void library::Rdma::report_established(RdmaConnection& connection) noexcept {
  connection.announced_ = true;
  connection.log("established");
  if (established_ != nullptr) {
    established_(connection, connection.user_data(), user_data());
  }
}

void library::Rdma::report_end(RdmaConnection& connection) noexcept {
  erase(connection);
  connection.state_ = RdmaConnection::State::closed;
  connection.log("ended");
  ConnectionChanged callback = nullptr;
  if (connection.left_ == RdmaConnection::State::established) {
    callback = disconnected_;
  } else if (connection.left_ == RdmaConnection::State::connecting) {
    callback = failed_;
  }
  if (callback != nullptr) {
    callback(connection, connection.user_data(), user_data());
  }
  connection.end();
  detail::ContextTasks::settle(*this);
}

bool library::Rdma::take_event() noexcept {
  if (!rdma_queue().next_event(*event_)) {
    return false;
  }
  if (event_->type == backend::RdmaEvent::Type::request) {
    take_request();
    return true;
  }
  auto& connection = *static_cast<RdmaConnection*>(event_->queue_pair->owner);
  const auto kept = connection.shared_from_this();  // the callback may change the list
  if (event_->type == backend::RdmaEvent::Type::established) {
    take_established(connection);
  } else {
    connection.begin_close(event_->status);
  }
  return true;
}

void library::Rdma::take_established(RdmaConnection& connection) noexcept {
  if (connection.state_ != RdmaConnection::State::connecting) {
    return;
  }
  try {
    if (event_->private_data_len != 0) {  // else it keeps what came with the request
      connection.private_data_ = private_data_of_event();
    }
  } catch (const std::bad_alloc&) {
    connection.begin_close(Status::no_memory);
    return;
  }
  connection.state_ = RdmaConnection::State::established;
  report_established(connection);
}

void library::Rdma::take_request() noexcept {
  if (state() != ContextState::running || connections_.size() >= options_.max_num_connections) {
    log::engine(log::Level::warning, kind(), [&] {
      return concat("a peer was rejected: there are ", connections_.size(),
                    " connections, as many as it takes (max_num_connections)");
    });
    event_->incoming.reset();
    return;
  }
  std::shared_ptr<RdmaConnection> connection;
  try {
    std::vector<std::byte> private_data = private_data_of_event();
    connection = add(std::move(event_->incoming), RdmaConnection::State::requested);
    connection->private_data_ = std::move(private_data);
  } catch (const std::bad_alloc&) {
    log::engine(log::Level::warning, kind(), "a peer was rejected: there is no memory for its connection");
    event_->incoming.reset();
    return;
  }
  connection->addr_.emplace(event_->peer.type, event_->peer.raw, event_->peer.port);
  connection->log("requested by a peer");
  requested_(*connection, user_data());
}

std::vector<std::byte> library::Rdma::private_data_of_event() const {
  return {event_->private_data.begin(), event_->private_data.begin() + event_->private_data_len};
}

}  // namespace pydoca

#include "pydoca/rdma.hpp"

#include "pydoca/log.hpp"
#include "pydoca/progress_engine.hpp"

#include "detail/concat.hpp"
#include "detail/slot_pool.hpp"

#include <algorithm>
#include <bit>
#include <sys/epoll.h>
#include <utility>

namespace pydoca {

namespace {

using detail::concat;

/// A queue with nothing new for so many looks is left to its descriptor: a thousand of them must not slow the others.
constexpr std::uint32_t max_vain_looks = 4096;

}  // namespace

Rdma::Rdma(std::shared_ptr<Device> device) : Context(std::move(device)) {
  static_cast<void>(max_message_size(this->device()->info()));  // throws without RDMA
  options_.gid_index = this->device()->info().capabilities().rdma->default_gid_index;
}

std::shared_ptr<Rdma> Rdma::create(std::shared_ptr<Device> device) {
  return std::shared_ptr<Rdma>(new Rdma(std::move(device)));
}

Rdma::~Rdma() {
  abandon();
  for (const auto& connection : connections_) {
    connection->end();  // in a forked child, too: a handle that outlives this must not point here
  }
}

void Rdma::settle_sizes() {
  std::uint64_t sends = 0;
  for (const Conf& conf : confs_) {
    sends += conf.num_tasks;
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

void Rdma::make_pools() {
  for (std::size_t i = 0; i < confs_.size(); ++i) {
    if (confs_[i].num_tasks != 0) {
      auto kind = static_cast<RdmaTaskKind>(i);
      Conf& conf = confs_[i];
      conf.tasks =
          std::make_unique<detail::SlotPool<RdmaTask>>(conf.num_tasks, *this, kind, conf.on_success, conf.on_error);
    }
  }
}

Status Rdma::begin() {
  settle_sizes();
  make_pools();
  event_ = std::make_unique<backend::RdmaEvent>();
  connections_.reserve(options_.max_num_connections);
  queue_ = device()->backend().create_rdma_queue(options_, *this);
  watch_queue();
  return Status::success;
}

void Rdma::watch_queue() {
  if (queue_->event_fd() >= 0) {
    progress_engine()->watch(queue_->event_fd(), EPOLLIN, *this);
    events_watched_ = true;
  }
  if (queue_->fd() >= 0) {
    start_looking();
  }
}

void Rdma::unwatch_queue() noexcept {
  stop_looking();
  dozes_ = false;
  if (std::exchange(watched_, false)) {
    progress_engine()->unwatch(queue_->fd());
  }
  if (std::exchange(events_watched_, false)) {
    progress_engine()->unwatch(queue_->event_fd());
  }
}

void Rdma::quiesce() noexcept {
  for (const std::uint16_t port : std::exchange(ports_, {})) {
    queue_->stop_listening(port);
  }
  const Status why = failure() == Status::driver ? Status::driver : Status::success;
  for (const auto& connection : connections_) {
    connection->begin_close(why);
  }
  queue_->abort();
}

void Rdma::end() noexcept {
  if (queue_ != nullptr) {
    reclaim_tasks();
    unwatch_queue();
  }
  for (const auto& connection : connections_) {
    connection->end();
  }
  connections_.clear();
  ports_.clear();
  queue_.reset();
  for (Conf& conf : confs_) {
    conf.tasks.reset();
  }
  news_ = false;
}

void Rdma::require_thread(std::string_view what) const {
  if (progress_engine()->check_thread() != Status::success) {
    throw Error(progress_engine()->check_thread(), concat(what, ": ", progress_engine()->describe_thread()));
  }
}

void Rdma::require_running(std::string_view what) const {
  if (state() != ContextState::running) {
    throw Error(Status::bad_state, concat(what, ": the rdma context does not run; start it"));
  }
  require_thread(what);
}

void Rdma::require_room(std::string_view what) const {
  require_running(what);
  if (connections_.size() >= options_.max_num_connections) {
    throw Error(Status::full, concat(what, ": the context has ", connections_.size(),
                                     ", as many as it takes: end one, or configure more (max_num_connections)"));
  }
}

std::shared_ptr<RdmaConnection> Rdma::add(std::unique_ptr<backend::QueuePair> queue_pair, RdmaConnection::State state) {
  std::shared_ptr<RdmaConnection> connection(new RdmaConnection(*this, next_id_, std::move(queue_pair), state));
  connections_.push_back(connection);  // there is room: see begin()
  ++next_id_;
  return connection;
}

void Rdma::erase(RdmaConnection& connection) noexcept {
  std::erase_if(connections_, [&](const auto& held) { return held.get() == &connection; });
}

std::shared_ptr<RdmaConnection> Rdma::export_connection() {
  require_room("export a connection");
  std::unique_ptr<backend::QueuePair> queue_pair = queue_->create_queue_pair();
  std::vector<std::byte> details = queue_pair->describe();
  std::shared_ptr<RdmaConnection> connection = add(std::move(queue_pair), RdmaConnection::State::exported);
  connection->details_ = std::move(details);
  return connection;
}

void Rdma::connect(std::span<const std::byte> details, RdmaConnection& connection) {
  require_running("connect");
  if (connection.rdma() != this) {
    throw Error(Status::invalid_value, concat("connect: connection ", connection.id(), " is ",
                                              connection.rdma() == nullptr ? "closed" : "another context's"));
  }
  if (connection.state() != RdmaConnection::State::exported) {
    connection.refuse("connect");
  }
  connection.queue_pair_->connect(details);
  connection.state_ = RdmaConnection::State::established;
  news();
}

void Rdma::start_listen_to_port(std::uint16_t port) {
  require_running("listen");
  if (!is_connection_manager_supported(device()->info())) {
    throw Error(Status::not_supported, concat("listen: ", device()->info().capabilities().rdma->no_connection_manager));
  }
  if (port == 0 || requested_ == nullptr) {
    throw Error(Status::invalid_value,
                port == 0 ? "listen: port 0 is nobody's; ports are 1..65535"
                          : "listen: nobody takes the requests; give a callback (set_connection_state_callbacks)");
  }
  if (std::ranges::find(ports_, port) != ports_.end()) {
    throw Error(Status::already_exist, concat("listen: this context listens to port ", port, " already"));
  }
  ports_.reserve(ports_.size() + 1);
  queue_->listen(port);
  ports_.push_back(port);
}

void Rdma::stop_listen_to_port(std::uint16_t port) {
  require_running("stop listening");
  if (std::erase(ports_, port) == 0) {
    throw Error(Status::invalid_value, concat("stop listening: this context does not listen to port ", port));
  }
  queue_->stop_listening(port);
}

std::shared_ptr<RdmaConnection> Rdma::connect_to_addr(const RdmaAddress& address, std::uint64_t connection_user_data,
                                                      std::span<const std::byte> private_data) {
  require_room("connect to an address");
  if (!is_connection_manager_supported(device()->info())) {
    throw Error(Status::not_supported,
                concat("connect to an address: ", device()->info().capabilities().rdma->no_connection_manager));
  }
  std::shared_ptr<RdmaConnection> connection =
      add(queue_->connect_to(address.value(), private_data), RdmaConnection::State::connecting);
  connection->addr_ = address;
  connection->user_data_ = connection_user_data;
  return connection;
}

Status Rdma::allocate(RdmaTaskKind kind, RdmaConnection* connection, std::uint64_t user_data,
                      RdmaTask*& task) noexcept {
  if (state() != ContextState::running) {
    return Status::bad_state;
  }
  if (connection != nullptr && (connection->rdma_ != this || !connection->is_connected())) {
    return connection->rdma_ != nullptr && connection->rdma_ != this ? Status::invalid_value : Status::not_connected;
  }
  const auto& tasks = conf(kind).tasks;
  RdmaTask* const taken = tasks != nullptr ? tasks->take() : nullptr;
  if (taken == nullptr) {
    return Status::no_memory;
  }
  task_taken(*taken);
  if (connection != nullptr) {
    taken->connection_ = connection->shared_from_this();
  }
  taken->set_user_data(user_data);
  task = taken;
  return Status::success;
}

void Rdma::flush_tasks() noexcept {
  if (queue_ != nullptr) {
    queue_->flush();
  }
}

bool Rdma::assist() noexcept { return queue_ != nullptr && queue_->assist(); }

bool Rdma::look() noexcept {
  if (queue_->look()) {
    vain_looks_ = 0;
    return true;
  }
  if (++vain_looks_ == max_vain_looks) {
    vain_looks_ = 0;
    stop_looking();
    prepare_sleep();
  }
  return false;
}

/// A descriptor costs an engine that polls a system call now and then, so that it is watched by one that sleeps only.
void Rdma::start_looking() noexcept {
  if (std::exchange(watched_, false)) {
    progress_engine()->unwatch(queue_->fd());
  }
  dozes_ = false;
  keep_looking();
}

void Rdma::prepare_sleep() noexcept {
  dozes_ = true;
  try {
    progress_engine()->watch(queue_->fd(), EPOLLIN, *this);
    watched_ = true;
  } catch (const Error& error) {
    log::engine(log::Level::error, kind(), error.what());
    ring();  // it must not sleep, then
    return;
  }
  queue_->arm();
  if (queue_->look()) {
    ring();
  }
}

bool Rdma::deliver_news(bool& more) noexcept {
  completed_since_news_ = 0;
  more = (news_ && report_one()) || take_event();
  return more;
}

void Rdma::news() noexcept {
  news_ = true;
  ring();
}

bool Rdma::report_one() noexcept {
  using State = RdmaConnection::State;
  for (const auto& held : connections_) {
    const std::shared_ptr<RdmaConnection> connection = held;  // the callback may change the list
    if (!connection->announced_ && connection->was_established()) {
      report_established(*connection);
      return true;
    }
    if (connection->state_ == State::closing && connection->outstanding_ == 0) {
      report_end(*connection);
      return true;
    }
  }
  news_ = false;
  return false;
}

void Rdma::report_established(RdmaConnection& connection) noexcept {
  connection.announced_ = true;
  if (established_ != nullptr) {
    established_(connection, connection.user_data_, user_data());
  }
}

void Rdma::report_end(RdmaConnection& connection) noexcept {
  erase(connection);
  connection.state_ = RdmaConnection::State::closed;
  ConnectionChanged callback = nullptr;
  if (connection.left_ == RdmaConnection::State::established) {
    callback = disconnected_;
  } else if (connection.left_ == RdmaConnection::State::connecting) {
    callback = failed_;
  }
  if (callback != nullptr) {
    callback(connection, connection.user_data_, user_data());
  }
  connection.end();
  settle();
}

bool Rdma::take_event() noexcept {
  if (!queue_->next_event(*event_)) {
    return false;
  }
  if (event_->kind == backend::RdmaEvent::Kind::request) {
    take_request();
    return true;
  }
  const auto connection = static_cast<RdmaConnection*>(event_->queue_pair->owner)->shared_from_this();
  if (event_->kind == backend::RdmaEvent::Kind::established) {
    take_established(*connection);
  } else {
    connection->begin_close(event_->status);
  }
  return true;
}

void Rdma::take_established(RdmaConnection& connection) noexcept {
  if (connection.state_ != RdmaConnection::State::connecting) {
    return;
  }
  connection.state_ = RdmaConnection::State::established;
  if (event_->private_data_len != 0) {
    connection.private_data_.assign(event_->private_data.begin(),
                                    event_->private_data.begin() + event_->private_data_len);
  }
  report_established(connection);
}

void Rdma::take_request() noexcept {
  if (state() != ContextState::running || connections_.size() >= options_.max_num_connections) {
    log::engine(log::Level::warning, kind(), [&] {
      return concat("a peer was rejected: there are ", connections_.size(),
                    " connections, as many as it takes (max_num_connections)");
    });
    event_->incoming.reset();
    return;
  }
  const std::shared_ptr<RdmaConnection> connection = add(std::move(event_->incoming), RdmaConnection::State::requested);
  connection->addr_.emplace(event_->peer);
  connection->private_data_.assign(event_->private_data.begin(),
                                   event_->private_data.begin() + event_->private_data_len);
  requested_(*connection, user_data());
}

}  // namespace pydoca

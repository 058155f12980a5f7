#include "backend/verbs/rdma/connection_manager.hpp"

#include "backend/verbs/library/failure.hpp"
#include "backend/verbs/library/opened_by_library.hpp"
#include "backend/verbs/rdma/cm_setup.hpp"
#include "backend/verbs/rdma/socket_address.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/epoll.h>
#include <sys/timerfd.h>

namespace pydoca::verbs {

namespace {

constexpr int backlog = 128;

/// RDMA-CM pads private data with zeros: those that the peer sent at the end cannot be told from padding.
void take_private_data(const rdma_conn_param& parameters, backend::RdmaEvent& event) noexcept {
  const std::size_t size = parameters.private_data != nullptr
                               ? std::min<std::size_t>(parameters.private_data_len, event.private_data.size())
                               : 0;
  std::memcpy(event.private_data.data(), parameters.private_data, size);
  event.private_data_len = size;
  while (event.private_data_len != 0 && event.private_data[event.private_data_len - 1] == std::byte{0}) {
    --event.private_data_len;
  }
}

/// The status of a connection that could not be made.
Status failure_of(const rdma_cm_event& raw) noexcept {
  constexpr int nobody_listens = 8;  // reasons of the InfiniBand connection manager
  constexpr int stale = 10;
  switch (raw.event) {
    case RDMA_CM_EVENT_REJECTED:
      if (raw.status == nobody_listens || raw.status == -ECONNREFUSED) {
        return Status::not_found;
      }
      return raw.status == stale ? Status::again : Status::connection_aborted;
    case RDMA_CM_EVENT_UNREACHABLE:
      return Status::time_out;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return raw.status == -ETIMEDOUT ? Status::time_out : Status::not_found;
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return Status::driver;
    default:
      return Status::connection_aborted;
  }
}

}  // namespace

ConnectionManager::ConnectionManager(RdmaShared& shared)
    : shared_(shared),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {
  if (!cm_library().reason.empty()) {
    throw Error(Status::not_supported, cm_library().reason);
  }
  channel_.reset(cm_library().create_event_channel());
  if (channel_ == nullptr || ::fcntl(channel_->fd, F_SETFL, ::fcntl(channel_->fd, F_GETFL) | O_NONBLOCK) != 0) {
    throw Error(Status::not_supported, detail::concat("connections by address: ", std::strerror(errno),
                                                      "; load the kernel's module rdma_ucm"));
  }
  watch(channel_->fd);
  watch(timer_.get());
}

ConnectionManager::~ConnectionManager() {
  listening_.clear();
  channel_.reset();
  if (shared_.is_removed()) {
    OpenedByLibrary::instance().replace(shared_.place().adapter().name());
  }
}

void ConnectionManager::watch(int fd) const {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    fail(errno, "connections by address: epoll");
  }
}

int ConnectionManager::timeout_ms() const noexcept {
  return static_cast<int>(shared_.options().connection_request_timeout.count());
}

OwnedId ConnectionManager::create_id() {
  rdma_cm_id* id = nullptr;
  if (cm_library().create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
    fail(errno, "connections by address: create an identifier");
  }
  return OwnedId(id);
}

void ConnectionManager::listen(std::uint16_t port) {
  const Place& place = shared_.place();
  SocketAddress address(place.adapter().gid(shared_.options().gid_index), port, place.adapter().iface_name());
  OwnedId id = create_id();
  if (cm_library().bind_addr(id.get(), address.get()) != 0 || cm_library().listen(id.get(), backlog) != 0) {
    fail(errno, "listen to port ", port, " on ", place.adapter().name());
  }
  static_cast<void>(is_on_this_device(*id));
  listening_.push_back({port, std::move(id)});
}

void ConnectionManager::stop_listening(std::uint16_t port) noexcept {
  std::erase_if(listening_, [port](const Listening& one) { return one.port == port; });
}

std::unique_ptr<backend::QueuePair> ConnectionManager::connect_to(const backend::RdmaAddress& address,
                                                                  std::span<const std::byte> private_data) {
  require_size(private_data, CmLink::max_request_data, "connect to an address");
  const Place& place = shared_.place();
  std::unique_ptr<QueuePair> pair = shared_.make_pair();
  CmLink& link = pair->link();
  std::ranges::copy(private_data, link.request_data.begin());
  link.request_data_len = static_cast<std::uint8_t>(private_data.size());
  link.responder_resources = link.initiator_depth = max_reads(shared_, 16);
  link.id = create_id();
  link.id->context = pair.get();
  const std::string& iface = place.adapter().iface_name();
  SocketAddress here(place.adapter().gid(shared_.options().gid_index), 0, iface);
  SocketAddress there(gid_of(address), address.port, iface);
  sockaddr* const source = here.is_ipv4() == there.is_ipv4() ? here.get() : nullptr;
  if (cm_library().resolve_addr(link.id.get(), source, there.get(), timeout_ms()) != 0) {
    throw Error(Status::invalid_value,
                detail::concat("connect to an address: ", place.adapter().name(),
                               " cannot reach it: ", std::strerror(errno), "; give one of the network of ", iface));
  }
  await_peer(*pair);
  return pair;
}

void ConnectionManager::await_peer(QueuePair& pair) noexcept {
  pair.link().deadline = Clock::now() + shared_.options().connection_request_timeout;
  set_timer();
}

// ---- Events --------------------------------------------------------------------------------------------------------

bool ConnectionManager::next_event(backend::RdmaEvent& event) noexcept { return next_message(event) || expire(event); }

bool ConnectionManager::expire(backend::RdmaEvent& event) noexcept {
  if (timer_end_ == Clock::time_point::max() || Clock::now() < timer_end_) {
    return false;
  }
  QueuePair* late = nullptr;
  shared_.for_each_pair([&](QueuePair& pair) {
    if (!pair.is_closed() && pair.link().deadline <= Clock::now()) {
      late = &pair;
    }
  });
  if (late != nullptr) {
    late->link().deadline = Clock::time_point::max();
    event.type = backend::RdmaEvent::Type::failed;
    event.status = Status::time_out;
    event.queue_pair = late;
    event.private_data_len = 0;
  }
  set_timer();
  return late != nullptr;
}

void ConnectionManager::set_timer() noexcept {
  timer_end_ = Clock::time_point::max();
  shared_.for_each_pair([&](QueuePair& pair) {
    if (!pair.is_closed()) {
      timer_end_ = std::min(timer_end_, pair.link().deadline);
    }
  });
  itimerspec when{};
  if (timer_end_ != Clock::time_point::max()) {
    const auto left = std::max(timer_end_ - Clock::now(), Clock::duration(1));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    when.it_value = {.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
  }
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);
}

bool ConnectionManager::next_message(backend::RdmaEvent& event) noexcept {
  rdma_cm_event* raw = nullptr;
  while (cm_library().get_cm_event(channel_.get(), &raw) == 0) {
    bool is_event = false;
    event.private_data_len = 0;
    event.status = Status::success;
    try {
      is_event = handle(*raw, event);
    } catch (const std::exception&) {
      // Only the steps that set a connection up throw.
      event.type = backend::RdmaEvent::Type::failed;
      event.status = Status::connection_aborted;
      event.queue_pair = static_cast<QueuePair*>(raw->id->context);
      is_event = event.queue_pair != nullptr && raw->event != RDMA_CM_EVENT_CONNECT_REQUEST;
    }
    cm_library().ack_cm_event(raw);
    if (is_event) {
      return true;
    }
  }
  return false;
}

bool ConnectionManager::is_on_this_device(const rdma_cm_id& id) const {
  if (id.verbs == nullptr || shared_.place().adapter().name() != static_cast<const char*>(id.verbs->device->name)) {
    return false;
  }
  OpenedByLibrary::instance().add(*id.verbs);
  return true;
}

bool ConnectionManager::handle(const rdma_cm_event& raw, backend::RdmaEvent& event) {
  if (raw.event == RDMA_CM_EVENT_CONNECT_REQUEST) {
    return take_request(raw, event);
  }
  auto* const pair = static_cast<QueuePair*>(raw.id->context);
  if (raw.event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
    shared_.lose_device();
  }
  if (pair == nullptr || pair->is_closed()) {
    return false;
  }
  event.queue_pair = pair;
  return advance(raw, *pair, event);
}

bool ConnectionManager::take_request(const rdma_cm_event& raw, backend::RdmaEvent& event) {
  OwnedId id(raw.id);
  id->context = nullptr;
  if (!is_on_this_device(*id)) {
    return false;
  }
  std::unique_ptr<QueuePair> pair = shared_.make_pair();
  CmLink& link = pair->link();
  id->context = pair.get();
  link.incoming = true;
  link.responder_resources = max_reads(shared_, raw.param.conn.responder_resources);
  link.initiator_depth = max_reads(shared_, raw.param.conn.initiator_depth);
  event.peer = address_of(id->route.addr.dst_addr);
  take_private_data(raw.param.conn, event);
  link.id = std::move(id);
  event.type = backend::RdmaEvent::Type::request;
  event.queue_pair = pair.get();
  event.incoming = std::move(pair);
  return true;
}

/// Sends the request once the route is found. False: event says that the connection failed.
bool ConnectionManager::request(QueuePair& pair, backend::RdmaEvent& event) {
  event.type = backend::RdmaEvent::Type::failed;
  event.status = Status::connection_aborted;
  return send_request(pair.handle(), pair.link(), shared_);
}

/// The peer has accepted.
void ConnectionManager::finish(const rdma_cm_event& raw, QueuePair& pair, backend::RdmaEvent& event) {
  pair.link().deadline = CmLink::Clock::time_point::max();
  const bool up = confirm_answer(pair.handle(), pair.link(), shared_);
  event.type = up ? backend::RdmaEvent::Type::established : backend::RdmaEvent::Type::failed;
  event.status = up ? Status::success : Status::connection_aborted;
  take_private_data(raw.param.conn, event);
  pair.established();
}

bool ConnectionManager::advance(const rdma_cm_event& raw, QueuePair& pair, backend::RdmaEvent& event) {
  using Type = backend::RdmaEvent::Type;
  rdma_cm_id* const id = pair.link().id.get();
  switch (raw.event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      event.type = Type::failed;
      event.status = is_on_this_device(*id) ? Status::success : Status::not_found;
      return event.status != Status::success || cm_library().resolve_route(id, timeout_ms()) != 0;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      return !request(pair, event);
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      finish(raw, pair, event);
      return true;
    case RDMA_CM_EVENT_ESTABLISHED:
      pair.link().deadline = Clock::time_point::max();
      event.type = Type::established;
      pair.established();
      return true;
    case RDMA_CM_EVENT_DISCONNECTED:
      pair.peer_left();  // reports it, after the completions that come first
      return false;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
      event.type = Type::failed;
      event.status = failure_of(raw);
      return true;
    default:
      return false;
  }
}

}  // namespace pydoca::verbs

#include "backend/verbs/connection_manager.hpp"

#include "backend/verbs/failure.hpp"
#include "backend/verbs/queue_pair.hpp"
#include "backend/verbs/queue_pair_attributes.hpp"
#include "backend/verbs/rdma_queue.hpp"
#include "backend/verbs/socket_address.hpp"
#include "detail/fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace pydoca::verbs {

namespace {

constexpr int backlog = 128;

/// Reads and atomics under way at a time, of either end.
std::uint8_t max_reads(const RdmaQueue& queue, std::uint8_t wanted) noexcept {
  const int limit = const_cast<RdmaQueue&>(queue).place().adapter().attributes().max_qp_rd_atom;
  return static_cast<std::uint8_t>(std::clamp(limit, 1, static_cast<int>(wanted)));
}

/// Sets a queue pair up as the manager says, but for what is the context's to say.
void modify(QueuePair& pair, RdmaQueue& queue, ibv_qp_state state) {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  int mask = 0;
  if (cm_library().init_qp_attr(pair.link().id.get(), &attributes, &mask) != 0) {
    fail(errno, "connect: ask how to set the queue pair up");
  }
  const auto limit = [&](std::uint8_t value) { return value == 0 ? value : max_reads(queue, value); };
  attributes.qp_access_flags = static_cast<unsigned>(queue.settings().access);
  attributes.min_rnr_timer = receiver_not_ready_timer;
  attributes.rnr_retry = queue.settings().rnr_retry_count;
  attributes.retry_cnt = max_retries;
  attributes.max_rd_atomic = limit(attributes.max_rd_atomic);
  attributes.max_dest_rd_atomic = limit(attributes.max_dest_rd_atomic);
  if (const int error = library().modify_qp(&pair.handle(), &attributes, mask); error != 0) {
    fail(error, "connect: set the queue pair up");
  }
}

rdma_conn_param parameters_for(QueuePair& pair, const RdmaQueue& queue, std::span<const std::byte> private_data) {
  rdma_conn_param parameters{};
  parameters.private_data = private_data.data();
  parameters.private_data_len = static_cast<std::uint8_t>(private_data.size());
  parameters.responder_resources = pair.link().responder_resources;
  parameters.initiator_depth = pair.link().initiator_depth;
  parameters.flow_control = 1;
  parameters.retry_count = max_retries;
  parameters.rnr_retry_count = queue.settings().rnr_retry_count;
  parameters.srq = queue.receives() != nullptr ? 1 : 0;
  parameters.qp_num = pair.number();
  return parameters;
}

void require_size(std::span<const std::byte> private_data, std::size_t most, std::string_view what) {
  if (private_data.size() > most) {
    throw Error(Status::invalid_value, detail::concat(what, ": ", private_data.size(),
                                                      " bytes of private data; RDMA-CM carries up to ", most));
  }
}

/// The manager fills up private data with zeros, so those at the end are not told from what the peer said.
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

/// Why there is no connection.
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

/// librdmacm keeps a device open that it has used once. When the device is removed, some drivers wait for that, and the
/// user of `rdma link delete` with them; so the library is left with descriptors of nothing.
class OpenedByLibrary {
 public:
  static OpenedByLibrary& instance() {
    static auto* const opened = new OpenedByLibrary;
    return *opened;
  }
  void add(const ibv_context& context) {
    const std::lock_guard lock(mutex_);
    files_[static_cast<const char*>(context.device->name)] = {context.cmd_fd, context.async_fd};
  }
  void put_to_rest(const std::string& device) {
    const std::lock_guard lock(mutex_);
    if (const auto found = files_.find(device); found != files_.end()) {
      replace(found->second.commands, "/dev/infiniband/uverbs");
      replace(found->second.events, "anon_inode:[infinibandevent]");
      files_.erase(found);
    }
  }

 private:
  struct Files {
    int commands;
    int events;
  };

  /// Unless fd has become another file.
  static void replace(int fd, std::string_view file) noexcept {
    std::array<char, 64> target{};
    const std::string link = detail::concat("/proc/self/fd/", fd);
    const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
    const detail::Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (size > 0 && nothing && std::string_view(target.data(), static_cast<std::size_t>(size)).starts_with(file)) {
      ::dup3(nothing.get(), fd, O_CLOEXEC);
    }
  }

  std::mutex mutex_;
  std::map<std::string, Files> files_;
};

}  // namespace

ConnectionManager::ConnectionManager(RdmaQueue& queue)
    : queue_(queue),
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
  if (queue_.is_removed()) {
    OpenedByLibrary::instance().put_to_rest(queue_.place().adapter().name());
  }
}

void ConnectionManager::watch(int fd) const {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    fail(errno, "connections by address: epoll");
  }
}

int ConnectionManager::timeout_ms() const noexcept {
  return static_cast<int>(queue_.options().connection_request_timeout.count());
}

OwnedId ConnectionManager::create_id() {
  rdma_cm_id* id = nullptr;
  if (cm_library().create_id(channel_.get(), &id, nullptr, RDMA_PS_TCP) != 0) {
    fail(errno, "connections by address: create an identifier");
  }
  return OwnedId(id);
}

void ConnectionManager::listen(std::uint16_t port) {
  const Place& place = queue_.place();
  SocketAddress address(place.adapter().gid(queue_.options().gid_index), port, place.adapter().iface_name());
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
  const Place& place = queue_.place();
  std::unique_ptr<QueuePair> pair = queue_.make_pair();
  CmLink& link = pair->link();
  std::ranges::copy(private_data, link.request_data.begin());
  link.request_data_len = static_cast<std::uint8_t>(private_data.size());
  link.responder_resources = link.initiator_depth = max_reads(queue_, 16);
  link.id = create_id();
  link.id->context = pair.get();
  const std::string& iface = place.adapter().iface_name();
  SocketAddress here(place.adapter().gid(queue_.options().gid_index), 0, iface);
  SocketAddress there(gid_of(address), address.port, iface);
  sockaddr* const source = here.is_ipv4() == there.is_ipv4() ? here.get() : nullptr;
  if (cm_library().resolve_addr(link.id.get(), source, there.get(), timeout_ms()) != 0) {
    throw Error(Status::invalid_value,
                detail::concat("connect to an address: ", place.adapter().name(),
                               " cannot reach it: ", std::strerror(errno), "; give one of the network of ", iface));
  }
  link.deadline = Clock::now() + queue_.options().connection_request_timeout;
  set_timer();
  return pair;
}

void accept_request(QueuePair& pair, RdmaQueue& queue, std::span<const std::byte> private_data) {
  require_size(private_data, CmLink::max_answer_data, "accept a connection");
  try {
    modify(pair, queue, IBV_QPS_INIT);
    modify(pair, queue, IBV_QPS_RTR);
    modify(pair, queue, IBV_QPS_RTS);
  } catch (const Error& error) {
    throw Error(Status::connection_aborted, detail::concat("accept a connection: the peer has gone: ", error.what()));
  }
  rdma_conn_param parameters = parameters_for(pair, queue, private_data);
  if (cm_library().accept(pair.link().id.get(), &parameters) != 0) {
    throw Error(Status::connection_aborted,
                detail::concat("accept a connection: the peer has gone: ", std::strerror(errno)));
  }
}

// ---- Events --------------------------------------------------------------------------------------------------------

bool ConnectionManager::next_event(backend::RdmaEvent& event) noexcept { return next_message(event) || expire(event); }

bool ConnectionManager::expire(backend::RdmaEvent& event) noexcept {
  if (timer_end_ == Clock::time_point::max() || Clock::now() < timer_end_) {
    return false;
  }
  QueuePair* late = nullptr;
  queue_.for_each_pair([&](QueuePair& pair) {
    if (!pair.is_closed() && pair.link().deadline <= Clock::now()) {
      late = &pair;
    }
  });
  if (late != nullptr) {
    late->link().deadline = Clock::time_point::max();
    event.kind = backend::RdmaEvent::Kind::failed;
    event.status = Status::time_out;
    event.queue_pair = late;
    event.private_data_len = 0;
  }
  set_timer();
  return late != nullptr;
}

void ConnectionManager::set_timer() noexcept {
  timer_end_ = Clock::time_point::max();
  queue_.for_each_pair([&](QueuePair& pair) {
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
    bool is_news = false;
    event.private_data_len = 0;
    event.status = Status::success;
    try {
      is_news = handle(*raw, event);
    } catch (const std::exception&) {
      // Only setting up throws, of a connection that is not yet one.
      event.kind = backend::RdmaEvent::Kind::failed;
      event.status = Status::connection_aborted;
      event.queue_pair = static_cast<QueuePair*>(raw->id->context);
      is_news = event.queue_pair != nullptr && raw->event != RDMA_CM_EVENT_CONNECT_REQUEST;
    }
    cm_library().ack_cm_event(raw);
    if (is_news) {
      return true;
    }
  }
  return false;
}

bool ConnectionManager::is_on_this_device(const rdma_cm_id& id) const {
  if (id.verbs == nullptr || queue_.place().adapter().name() != static_cast<const char*>(id.verbs->device->name)) {
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
    queue_.lose_device();
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
  std::unique_ptr<QueuePair> pair = queue_.make_pair();
  CmLink& link = pair->link();
  id->context = pair.get();
  link.incoming = true;
  link.responder_resources = max_reads(queue_, raw.param.conn.responder_resources);
  link.initiator_depth = max_reads(queue_, raw.param.conn.initiator_depth);
  event.peer = address_of(id->route.addr.dst_addr);
  take_private_data(raw.param.conn, event);
  link.id = std::move(id);
  event.kind = backend::RdmaEvent::Kind::request;
  event.queue_pair = pair.get();
  event.incoming = std::move(pair);
  return true;
}

namespace {

/// Sends the request of a connection that has found its way; otherwise event says that it failed.
bool request(QueuePair& pair, RdmaQueue& queue, backend::RdmaEvent& event) {
  modify(pair, queue, IBV_QPS_INIT);
  const std::span said(pair.link().request_data);
  rdma_conn_param parameters = parameters_for(pair, queue, said.first(pair.link().request_data_len));
  event.kind = backend::RdmaEvent::Kind::failed;
  event.status = Status::connection_aborted;
  return cm_library().connect(pair.link().id.get(), &parameters) == 0;
}

/// The peer has accepted.
void finish(const rdma_cm_event& raw, QueuePair& pair, RdmaQueue& queue, backend::RdmaEvent& event) {
  pair.link().deadline = CmLink::Clock::time_point::max();
  modify(pair, queue, IBV_QPS_RTR);
  modify(pair, queue, IBV_QPS_RTS);
  const bool up = cm_library().establish(pair.link().id.get()) == 0;
  event.kind = up ? backend::RdmaEvent::Kind::established : backend::RdmaEvent::Kind::failed;
  event.status = up ? Status::success : Status::connection_aborted;
  take_private_data(raw.param.conn, event);
  pair.established();
}

}  // namespace

bool ConnectionManager::advance(const rdma_cm_event& raw, QueuePair& pair, backend::RdmaEvent& event) {
  using Kind = backend::RdmaEvent::Kind;
  rdma_cm_id* const id = pair.link().id.get();
  switch (raw.event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      event.kind = Kind::failed;
      event.status = is_on_this_device(*id) ? Status::success : Status::not_found;
      return event.status != Status::success || cm_library().resolve_route(id, timeout_ms()) != 0;
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      return !request(pair, queue_, event);
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      finish(raw, pair, queue_, event);
      return true;
    case RDMA_CM_EVENT_ESTABLISHED:
      event.kind = Kind::established;
      pair.established();
      return true;
    case RDMA_CM_EVENT_DISCONNECTED:
      pair.peer_left();  // which reports it, after what it had to complete
      return false;
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
      event.kind = Kind::failed;
      event.status = failure_of(raw);
      return true;
    default:
      return false;
  }
}

}  // namespace pydoca::verbs

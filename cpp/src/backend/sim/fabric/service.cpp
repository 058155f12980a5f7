#include "backend/sim/fabric/service.hpp"

#include "pydoca/status.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/fabric/process_end.hpp"
#include "detail/concat.hpp"
#include "detail/system_reason.hpp"
#include "detail/thread/signals_blocked.hpp"
#include "detail/time/virtual_clock.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace pydoca::sim {

namespace {

constexpr Service::Id timer_id = 0;  // no connection has it
constexpr long look_after_ns = 50'000'000;

void watch(int epoll, int fd, Service::Id id, std::uint32_t how = 0) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP | how;
  event.data.u64 = id;
  if (::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
    throw Error(Status::operating_system, detail::concat("cannot watch a connection: ", detail::system_reason(errno)));
  }
}

/// Before the descriptor is closed: while another one of the same socket is open, an importer's doorbell has one, the
/// kernel would go on reporting it.
void unwatch(int epoll, int fd) noexcept { ::epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nullptr); }

/// The process at the other end of a connection, if it is another one that this one can look at.
pid_t other_process(int fd) noexcept {
  const pid_t peer = peer_pid(fd);
  return peer > 0 && peer != ::getpid() ? peer : 0;
}

/// The parent's service in a forked child. Unused; kept reachable, so that leak checkers do not report it.
std::atomic<Service*>& parents() noexcept {
  static std::atomic<Service*> service{nullptr};
  return service;
}

/// Guards the creation of the service.
std::mutex& creation() noexcept {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

std::atomic<Service*>& Service::current() noexcept {
  static std::atomic<Service*> service{nullptr};
  return service;
}

Service& Service::instance() {
  if (Service* const service = current().load(std::memory_order_acquire)) {
    return *service;
  }
  static const int hooked = ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  const std::lock_guard lock(creation());
  if (current().load() == nullptr) {
    if (hooked != 0) {
      throw Error(Status::no_memory, "cannot prepare for fork()");
    }
    std::unique_ptr<Service> service(new Service);
    service->start_thread();
    detail::VirtualClock::instance().set_settle(&Service::settle);
    current().store(service.release(), std::memory_order_release);
  }
  return *current().load();
}

Service::Service()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!epoll_ || !timer_) {
    throw Error(Status::operating_system, detail::concat("cannot watch connections: ", detail::system_reason(errno)));
  }
  watch(epoll_.get(), timer_.get(), timer_id, EPOLLET);  // no thread reads it
  inherited_ = parents().load();
}

void Service::start_thread() {
  const detail::SignalsBlocked blocked;
  try {
    std::thread thread([this] { run(); });
    ::pthread_setname_np(thread.native_handle(), "pydoca-memory");
    thread.detach();
  } catch (const std::system_error& error) {
    throw Error(Status::operating_system, detail::concat("cannot start a thread: ", error.what()));
  }
}

Service::Id Service::add(detail::Fd&& fd, std::unique_ptr<Connection> connection) {
  const Id id = next_id_++;
  const pid_t peer = other_process(fd.get());
  const auto place = connections_.try_emplace(id).first;
  try {
    watch(epoll_.get(), fd.get(), id);
  } catch (...) {
    connections_.erase(place);
    throw;
  }
  place->second = {std::move(fd), std::move(connection), peer};
  if (peer != 0 && !timer_on_) {
    set_timer();
  }
  return id;
}

void Service::remove(Id id) noexcept {
  const auto found = connections_.find(id);
  if (found != connections_.end()) {
    ::shutdown(found->second.fd.get(), SHUT_RDWR);  // another descriptor of it must not keep the connection
    unwatch(epoll_.get(), found->second.fd.get());
    connections_.erase(found);
  }
}

void Service::run() noexcept {
  std::array<epoll_event, 16> events;
  while (true) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
    if (count < 0 && errno != EINTR) {
      return;  // the application has closed descriptors of the service; retrying would only spin
    }
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      if (event.data.u64 == timer_id) {
        look_at_peers();
      } else {
        serve(event.data.u64, event.events);
      }
    }
  }
}

/// What has come stays readable until it is read under the lock, and its consequences follow under the same lock.
void Service::settle() noexcept {
  Service* const service = current().load(std::memory_order_acquire);
  if (service == nullptr) {
    return;
  }
  pollfd pending{.fd = service->epoll_.get(), .events = POLLIN, .revents = 0};
  do {
    while (::poll(&pending, 1, 0) > 0) {
      ::sched_yield();
    }
    const Lock until_it_is_free = service->lock();
  } while (::poll(&pending, 1, 0) > 0);
}

void Service::set_timer() noexcept {
  constexpr itimerspec setting{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = look_after_ns}};
  timer_on_ = ::timerfd_settime(timer_.get(), 0, &setting, nullptr) == 0;
}

void Service::look_at_peers() noexcept {
  bool any = false;
  pid_t looked_at = 0;  // one peer may have thousands of connections, one after another
  bool gone = false;
  Id id = 0;
  for (auto next = connections_.begin(); next != connections_.end(); next = connections_.upper_bound(id)) {
    id = next->first;
    const pid_t peer = next->second.peer;
    if (peer == 0) {
      continue;
    }
    if (peer != looked_at) {
      looked_at = peer;
      gone = has_ended(peer);
    }
    if (gone) {
      serve(id, EPOLLHUP);
    }
    any = true;
  }
  timer_on_ = false;
  if (any) {
    set_timer();
  }
}

void Service::serve(Id id, std::uint32_t events) noexcept {
  const auto found = connections_.find(id);
  if (found == connections_.end()) {
    return;  // removed since the kernel reported it
  }
  const bool open = (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP)) == 0;
  const bool wanted = (events & EPOLLIN) == 0 || found->second.connection->readable(*this, id, found->second.fd.get());
  if (open && wanted) {
    return;
  }
  const auto node = connections_.extract(id);
  if (!node.empty()) {
    unwatch(epoll_.get(), node.mapped().fd.get());
    node.mapped().connection->ended(*this, id);
  }
}

// The locks are held during a fork, so that the child copies a service that is not in the middle of a change.

void Service::before_fork() noexcept {
  creation().lock();
  if (Service* const service = current().load()) {
    service->mutex_.lock();
  }
}

void Service::after_fork_in_parent() noexcept {
  if (Service* const service = current().load()) {
    service->mutex_.unlock();
  }
  creation().unlock();
}

void Service::after_fork_in_child() noexcept {
  if (Service* const service = current().load()) {
    // Peers must see the parent's connections end with the parent. What the connections hold is left alone: destroying
    // it could need locks that other threads of the parent had.
    for (auto& [id, entry] : service->connections_) {
      entry.fd.reset();
      entry.connection->leave_to_parent();
    }
    service->epoll_.reset();
    service->timer_.reset();
    parents().store(service);
    current().store(nullptr);
    service->mutex_.unlock();
  }
  creation().unlock();
}

}  // namespace pydoca::sim

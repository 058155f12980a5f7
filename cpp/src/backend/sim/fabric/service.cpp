#include "backend/sim/fabric/service.hpp"

#include "pydoca/status.hpp"

#include "detail/concat.hpp"
#include "detail/signals_blocked.hpp"
#include "detail/system_reason.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <pthread.h>
#include <sys/epoll.h>
#include <system_error>
#include <thread>

namespace pydoca::sim {

namespace {

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
    current().store(service.release(), std::memory_order_release);
  }
  return *current().load();
}

Service::Service() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) {
    throw Error(Status::operating_system, detail::concat("cannot watch connections: ", detail::system_reason(errno)));
  }
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

Service::Id Service::add(detail::Fd fd, std::unique_ptr<Connection> connection) {
  const Id id = next_id_++;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLRDHUP;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd.get(), &event) != 0) {
    throw Error(Status::operating_system, detail::concat("cannot watch a connection: ", detail::system_reason(errno)));
  }
  connections_.emplace(id, Entry{std::move(fd), std::move(connection)});
  return id;
}

void Service::remove(Id id) noexcept { connections_.erase(id); }

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
      serve(event.data.u64, event.events);
    }
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
    parents().store(service);
    current().store(nullptr);
    service->mutex_.unlock();
  }
  creation().unlock();
}

}  // namespace pydoca::sim

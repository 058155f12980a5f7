#include "backend/sim/rdma/rdma_queue.hpp"

#include "pydoca/status.hpp"

#include "backend/sim/copy/segment_copy.hpp"
#include "backend/sim/rdma/connection_manager.hpp"
#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <algorithm>
#include <cerrno>
#include <sys/epoll.h>
#include <utility>

namespace pydoca::sim {

namespace {

using backend::RdmaOpcode;
using backend::RdmaOperation;

/// The connection manager is asked once in this many looks, as each time costs a system call.
constexpr std::uint32_t looks_between_manager = 256;

void require(bool done, std::string_view what) {
  if (!done) {
    throw Error(Status::operating_system,
                detail::concat("rdma: cannot create ", what, ": ", detail::system_reason(errno)));
  }
}

}  // namespace

RdmaQueue::RdmaQueue(const Place& place, const backend::RdmaOptions& options, backend::Notifier& notifier)
    : RdmaShared(place, options, notifier), all_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (options.max_num_connections > max_peers) {
    throw Error(Status::invalid_value, detail::concat("rdma: at most ", max_peers, " connections"));
  }
  manager_ = std::make_unique<ConnectionManager>(static_cast<RdmaShared&>(*this));
  watch_all();
}

RdmaQueue::~RdmaQueue() = default;

void RdmaQueue::watch_all() {
  require(static_cast<bool>(all_), "an epoll set");
  require(static_cast<bool>(timer_), "a timer");
  for (const int fd : {mailbox_->wake_fd(), manager_->fd(), timer_.fd()}) {
    const bool is_edge = fd == mailbox_->wake_fd();
    epoll_event event{.events = is_edge ? EPOLLIN | EPOLLET : EPOLLIN, .data = {.fd = fd}};
    require(::epoll_ctl(all_.get(), EPOLL_CTL_ADD, fd, &event) == 0, "an epoll set");
  }
}

bool RdmaQueue::look() noexcept {
  return completions_.has_finished() || completions_.has_reports() || mailbox_->has_pending() || is_overdue() ||
         (place_.removed() && !removed_) || (manager_->is_active() && ++looks_ % looks_between_manager == 0);
}

void RdmaQueue::arm() noexcept {
  if (deadline_ != detail::never) {
    timer_.set(deadline_);
    timer_on_ = true;
  }
  mailbox_->fall_asleep();
}

/// Asks all, as arm() does.
bool RdmaQueue::may_advance_elsewhere(Cpus here) noexcept {
  bool elsewhere = false;
  for_each_pair([&](QueuePair& pair) { elsewhere = pair.may_advance_elsewhere(here) || elsewhere; });
  return elsewhere;
}

backend::Operation* RdmaQueue::poll(bool& more) noexcept {
  if (!completions_.has_finished()) {
    is_attending_ = true;
    attend();
    is_attending_ = false;
  }
  RdmaOperation* const operation = completions_.take();
  if (operation == nullptr) {
    return nullptr;
  }
  more = completions_.has_finished();
  if (operation->opcode == RdmaOpcode::receive) {
    receives_.ended();
  } else {
    static_cast<QueuePair*>(operation->queue_pair)->operation_polled();
  }
  return operation;
}

void RdmaQueue::attend() noexcept {
  mailbox_->take_pending([this](std::uint32_t number) {
    if (number < pairs_.size() && pairs_[number] != nullptr) {
      pairs_[number]->attend();
    }
  });
  const bool overdue = is_overdue();
  const bool removed = place_.removed() && !std::exchange(removed_, place_.removed());
  if (removed) {
    receives_.fail(Status::driver);
  }
  if (overdue || removed) {
    attend_all();
  }
  if (mailbox_->is_sleeping()) {
    wake_up();
  }
  attend_stalled();
}

void RdmaQueue::wake_up() noexcept {
  if (std::exchange(timer_on_, false)) {
    timer_.clear();
  }
  // Reporting a wake-up takes it off the list of those that make fd() readable.
  epoll_event reported{};
  static_cast<void>(::epoll_wait(all_.get(), &reported, 1, 0));
  mailbox_->wake_up();
}

void RdmaQueue::attend_stalled() noexcept {
  receives_.take_stalled([this](std::uint32_t number) { attend_again(number); });
}

void RdmaQueue::attend_all() noexcept {
  deadline_ = detail::never;
  for_each_pair([](QueuePair& pair) { pair.attend(); });
}

void RdmaQueue::flush() noexcept {
  for_each_pair([](QueuePair& pair) { pair.run(); });
}

/// Once no queue pair is connected, no peer has a receive any more: all of them end.
void RdmaQueue::abort() noexcept {
  for_each_pair([](QueuePair& pair) { pair.disconnect(); });
  receives_.fail(Status::shutdown);
}

Status RdmaQueue::post_receive(RdmaOperation& operation, bool /*flush*/) noexcept {
  if (receives_.is_full()) {
    return Status::again;
  }
  receives_.began();
  operation.queue_pair = nullptr;
  if (place_.removed()) {
    finish(operation, Status::driver);
    return Status::success;
  }
  // Checked here, not when a message has come: its sender has been told by then that it arrived.
  if (!can_scatter(operation.local, operation.length, place_.ordinal(), options_.max_recv_segments)) {
    finish(operation, Status::io_failed);
    return Status::success;
  }
  if (operation.length < shortest_receive_) [[unlikely]] {
    shortest_receive_ = operation.length;
    for_each_pair([this](QueuePair& pair) { pair.set_shortest_receive(shortest_receive_); });
  }
  receives_.post(operation);
  attend_stalled();
  return Status::success;
}

std::unique_ptr<QueuePair> RdmaQueue::make_pair() {
  const auto free = std::ranges::find(pairs_, nullptr);
  if (free == pairs_.end()) {
    throw Error(Status::full, detail::concat("rdma: there are ", pairs_.size(), " connections, and no room for more"));
  }
  auto pair =
      std::make_unique<QueuePair>(static_cast<RdmaShared&>(*this), static_cast<std::uint32_t>(free - pairs_.begin()));
  pair->set_shortest_receive(shortest_receive_);
  *free = pair.get();
  return pair;
}

void RdmaQueue::watch_import(QueuePair& pair) { manager_->watch_import(pair); }

bool RdmaQueue::next_event(backend::RdmaEvent& event) noexcept {
  return completions_.take_report(event) || manager_->next_event(event);
}

void RdmaQueue::listen(std::uint16_t port) { manager_->listen(port); }
void RdmaQueue::stop_listening(std::uint16_t port) noexcept { manager_->stop_listening(port); }
std::unique_ptr<backend::QueuePair> RdmaQueue::connect_to(const backend::RdmaAddress& address,
                                                          std::span<const std::byte> private_data) {
  return manager_->connect_to(address, private_data);
}

}  // namespace pydoca::sim

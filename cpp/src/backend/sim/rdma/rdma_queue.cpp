#include "backend/sim/rdma/rdma_queue.hpp"

#include "pydoca/status.hpp"

#include "backend/sim/copy/segment_copy.hpp"
#include "backend/sim/rdma/connection_manager.hpp"
#include "detail/concat.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>

namespace pydoca::sim {

namespace {

using backend::RdmaOpcode;
using backend::RdmaOperation;

/// Whether a connection is being made takes a system call to find out.
constexpr std::uint32_t looks_at_manager = 256;

void require(bool done, std::string_view what) {
  if (!done) {
    throw Error(Status::operating_system, detail::concat("rdma: cannot create ", what, ": ", std::strerror(errno)));
  }
}

}  // namespace

RdmaQueue::RdmaQueue(const Place& place, const backend::RdmaOptions& options, backend::Notifier& notifier)
    : place_(place),
      options_(options),
      notifier_(notifier),
      mailbox_(std::make_shared<Mailbox>(options.recv_queue_size)),
      pairs_(options.max_num_connections),
      receives_(options.recv_queue_size),
      all_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (options.max_num_connections > max_peers) {
    throw Error(Status::invalid_value, detail::concat("rdma: at most ", max_peers, " connections"));
  }
  manager_ = std::make_unique<ConnectionManager>(*this);
  watch_all();
}

RdmaQueue::~RdmaQueue() = default;

void RdmaQueue::watch_all() {
  require(static_cast<bool>(all_), "an epoll set");
  if (options_.rnr_retry_count < backend::rnr_retry_for_ever) {
    timer_ = detail::Fd(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
    require(static_cast<bool>(timer_), "a timer");
  }
  for (const int fd : {mailbox_->event_fd(), manager_->fd(), timer_.get()}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    require(fd < 0 || ::epoll_ctl(all_.get(), EPOLL_CTL_ADD, fd, &event) == 0, "an epoll set");
  }
}

bool RdmaQueue::look() noexcept {
  return !finished_.empty() || !reports_.empty() || mailbox_->has_news() || (deadline_.has_value() && is_overdue()) ||
         (place_.removed() && !removed_) || (manager_->is_active() && ++looks_ % looks_at_manager == 0);
}

void RdmaQueue::arm() noexcept {
  if (deadline_.has_value()) {
    set_timer();
  }
  mailbox_->fall_asleep();
}

void RdmaQueue::set_timer() noexcept {
  const auto left = std::max(*deadline_ - QueuePair::Clock::now(), QueuePair::Clock::duration(1));
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const itimerspec when{.it_interval = {},
                        .it_value = {.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()}};
  ::timerfd_settime(timer_.get(), 0, &when, nullptr);
}

void RdmaQueue::watch_deadline(QueuePair::Clock::time_point deadline) noexcept {
  deadline_ = std::min(deadline, deadline_.value_or(deadline));
}

backend::Operation* RdmaQueue::poll(bool& more) noexcept {
  if (finished_.empty()) {
    is_gathering_ = true;
    gather_news();
    is_gathering_ = false;
  }
  RdmaOperation* const operation = finished_.pop();
  if (operation == nullptr) {
    return nullptr;
  }
  more = !finished_.empty();
  if (operation->opcode == RdmaOpcode::receive) {
    --outstanding_receives_;
  } else {
    static_cast<QueuePair*>(operation->queue_pair)->operation_polled();
  }
  return operation;
}

void RdmaQueue::gather_news() noexcept {
  mailbox_->take_news([this](std::uint32_t number) {
    if (number < pairs_.size() && pairs_[number] != nullptr) {
      pairs_[number]->attend();
    }
  });
  const bool overdue = deadline_.has_value() && is_overdue();
  const bool removed = place_.removed() && !std::exchange(removed_, place_.removed());
  if (removed) {
    fail_receives(Status::driver);
  }
  // Where nothing is new, the event file may say that a peer has left.
  if (overdue || removed || (finished_.empty() && wake_up())) {
    attend_all();
  }
}

bool RdmaQueue::wake_up() noexcept {
  std::uint64_t expirations = 0;
  if (timer_) {
    static_cast<void>(!::read(timer_.get(), &expirations, sizeof expirations));
  }
  return mailbox_->wake_up();
}

void RdmaQueue::attend_all() noexcept {
  deadline_.reset();
  for (QueuePair* const pair : pairs_) {
    if (pair != nullptr) {
      pair->attend();
    }
  }
}

void RdmaQueue::attend_again(const QueuePair& pair) noexcept {
  mailbox_->remind(pair.number());
  // Who rings from within poll() is called again at once, and an engine's call would last as long as there is work; the
  // next look sees the mailbox.
  if (!is_gathering_) {
    notifier_.notify();
  }
}

void RdmaQueue::flush() noexcept {
  for (QueuePair* const pair : pairs_) {
    if (pair != nullptr) {
      pair->run();
    }
  }
}

void RdmaQueue::abort() noexcept {
  for (QueuePair* const pair : pairs_) {
    if (pair != nullptr) {
      pair->disconnect();
    }
  }
  fail_receives(Status::shutdown);
}

/// Those that no message has taken; all of them once nobody is connected.
void RdmaQueue::fail_receives(Status status) noexcept {
  ReceiveBoard& board = mailbox_->receives();
  for (std::size_t back = receives_.size(); back > 0; --back) {
    const std::size_t index = board.index_of(board.next_number() - back);
    if (receives_[index] != nullptr && board.withdraw(index)) {
      finish(*std::exchange(receives_[index], nullptr), status);
    }
  }
  while (RdmaOperation* const operation = unpublished_.pop()) {
    finish(*operation, status);
  }
}

Status RdmaQueue::post_receive(RdmaOperation& operation, bool /*flush*/) noexcept {
  if (outstanding_receives_ == options_.recv_queue_size) {
    return Status::again;
  }
  ++outstanding_receives_;
  operation.queue_pair = nullptr;
  if (place_.removed()) {
    finish(operation, Status::driver);
    return Status::success;
  }
  // Not when a message has come: that one's sender would have been told that it arrived.
  if (!can_scatter(operation.local, operation.length, place_.ordinal(), options_.max_recv_segments)) {
    finish(operation, Status::io_failed);
    return Status::success;
  }
  unpublished_.push(operation);
  publish_receives();
  return Status::success;
}

void RdmaQueue::publish_receives() noexcept {
  ReceiveBoard& board = mailbox_->receives();
  bool wanted = false;
  while (!unpublished_.empty() && receives_[board.index_of(board.next_number())] == nullptr) {
    RdmaOperation& operation = *unpublished_.pop();
    receives_[board.index_of(board.next_number())] = &operation;
    wanted = board.publish(operation.length) || wanted;
  }
  for (QueuePair* const pair : pairs_) {
    if (wanted && pair != nullptr) {
      pair->tell_peer();
    }
  }
}

RdmaOperation* RdmaQueue::taken_receive(std::uint64_t number, std::uint32_t peer) const noexcept {
  if (receives_.empty()) {
    return nullptr;
  }
  const ReceiveBoard& board = mailbox_->receives();
  const std::size_t index = board.index_of(number);
  return board.is_taken_by(index, number, peer) ? receives_[index] : nullptr;
}

void RdmaQueue::retire_receive(std::uint64_t number) noexcept {
  ReceiveBoard& board = mailbox_->receives();
  board.close(board.index_of(number));
  receives_[board.index_of(number)] = nullptr;
  publish_receives();
}

void RdmaQueue::reclaim_receives(std::uint32_t peer) noexcept {
  ReceiveBoard& board = mailbox_->receives();
  for (std::size_t back = 1; back <= receives_.size(); ++back) {  // the latest first: they go to the front
    const std::size_t index = board.index_of(board.next_number() - back);
    if (receives_[index] != nullptr && board.is_taken_by(index, peer)) {
      board.close(index);
      unpublished_.push_front(*std::exchange(receives_[index], nullptr));
    }
  }
  publish_receives();
}

std::unique_ptr<QueuePair> RdmaQueue::make_pair() {
  const auto free = std::ranges::find(pairs_, nullptr);
  if (free == pairs_.end()) {
    throw Error(Status::full, detail::concat("rdma: there are ", pairs_.size(), " connections, and no room for more"));
  }
  auto pair = std::make_unique<QueuePair>(*this, static_cast<std::uint32_t>(free - pairs_.begin()));
  *free = pair.get();
  return pair;
}

void RdmaQueue::forget(QueuePair& pair) noexcept {
  pairs_[pair.number()] = nullptr;
  std::erase_if(reports_, [&](const Report& report) { return report.pair == &pair; });
  finished_.for_each([&](RdmaOperation& operation) {
    if (operation.opcode == RdmaOpcode::receive && operation.queue_pair == &pair) {
      operation.queue_pair = nullptr;
    }
  });
}

template <class Accept>
QueuePair* RdmaQueue::find_with_handshake(Accept accept) const noexcept {
  const auto found = std::ranges::find_if(pairs_, [&](const QueuePair* pair) {
    return pair != nullptr && pair->handshake() != nullptr && accept(*pair->handshake());
  });
  return found != pairs_.end() ? *found : nullptr;
}

QueuePair* RdmaQueue::find_handshake(int fd) const noexcept {
  return find_with_handshake([fd](const Handshake& handshake) { return handshake.fd() == fd; });
}

QueuePair* RdmaQueue::find_late_handshake(QueuePair::Clock::time_point now) const noexcept {
  return find_with_handshake([now](const Handshake& handshake) { return handshake.deadline() <= now; });
}

QueuePair::Clock::time_point RdmaQueue::next_handshake_deadline() const noexcept {
  auto next = QueuePair::Clock::time_point::max();
  static_cast<void>(find_with_handshake([&next](const Handshake& handshake) {
    next = std::min(next, handshake.deadline());
    return false;
  }));
  return next;
}

void RdmaQueue::report(QueuePair& pair, backend::RdmaEvent::Kind kind, Status status) noexcept {
  reports_.push_back({&pair, kind, status});
  notifier_.notify();
}

bool RdmaQueue::next_event(backend::RdmaEvent& event) noexcept {
  if (reports_.empty()) {
    return manager_->next_event(event);
  }
  const Report report = reports_.front();
  reports_.pop_front();
  event.kind = report.kind;
  event.queue_pair = report.pair;
  event.status = report.status;
  event.private_data_len = 0;
  return true;
}

void RdmaQueue::listen(std::uint16_t port) { manager_->listen(port); }
void RdmaQueue::stop_listening(std::uint16_t port) noexcept { manager_->stop_listening(port); }
std::unique_ptr<backend::QueuePair> RdmaQueue::connect_to(const backend::RdmaAddress& address,
                                                          std::span<const std::byte> private_data) {
  return manager_->connect_to(address, private_data);
}
}  // namespace pydoca::sim

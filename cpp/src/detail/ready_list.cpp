#include "detail/ready_list.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/eventfd.h>
#include <utility>

namespace pydoca::detail {

ReadyList::ReadyList() : event_fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!event_fd_) {
    throw Error(Status::operating_system, concat("create progress engine: eventfd: ", detail::system_reason(errno)));
  }
}

void ReadyList::offer_assist(ReadyNode& node) noexcept {
  if (node.assisting_) {
    return;
  }
  node.assisting_ = true;
  assist_.push_front(node);
}

bool ReadyList::assist() noexcept {
  while (ReadyNode* const node = assist_.front()) {
    if (node->assist()) {
      return true;
    }
    unlink_assist(*node);
  }
  return false;
}

void ReadyList::unlink_assist(ReadyNode& node) noexcept {
  assist_.remove(node);
  node.assisting_ = false;
}

void ReadyList::keep_looking(ReadyNode& node) noexcept {
  if (node.looking_) {
    return;
  }
  node.looking_ = true;
  if (looking_ == nullptr) {
    looking_ = node.next_looking_ = node.prev_looking_ = &node;
    return;
  }
  node.next_looking_ = looking_;
  node.prev_looking_ = looking_->prev_looking_;
  node.prev_looking_->next_looking_ = node.next_looking_->prev_looking_ = &node;
}

void ReadyList::begin_looking(ReadyNode& node) noexcept {
  if (node.looking_) {
    return;
  }
  keep_looking(node);
  if (armed_.load(std::memory_order_relaxed)) {
    wake_if_armed();
  }
}

void ReadyList::stop_looking(ReadyNode& node) noexcept {
  if (!node.looking_) {
    return;
  }
  node.looking_ = false;
  node.prev_looking_->next_looking_ = node.next_looking_;
  node.next_looking_->prev_looking_ = node.prev_looking_;
  if (looking_ == &node) {
    looking_ = node.next_looking_ != &node ? node.next_looking_ : nullptr;
  }
}

void ReadyList::remove(ReadyNode& node) noexcept {
  collect_posted();
  if (node.listed_) {
    unlink(node);
  }
  if (node.assisting_) {
    unlink_assist(node);
  }
  stop_looking(node);
  leave_others(node);
}

void ReadyList::await_others(ReadyNode& node) noexcept {
  if (!std::exchange(node.awaits_others_, true)) {
    awaiting_.push_front(node);
    ++num_awaiting_;
  }
}

void ReadyList::leave_others(ReadyNode& node) noexcept {
  if (std::exchange(node.awaits_others_, false)) {
    awaiting_.remove(node);
    --num_awaiting_;
  }
}

bool ReadyList::may_advance_elsewhere(Cpus here, bool is_new) noexcept {
  constexpr std::size_t most = 32;
  for (std::size_t left = is_new ? num_awaiting_ : std::min(num_awaiting_, most); left > 0; --left) {
    ask_next(here);
  }
  return waker_.take().may_run_beside(here) || num_denials_ < num_awaiting_;
}

void ReadyList::ask_next(Cpus here) noexcept {
  ReadyNode& node = *awaiting_.front();
  awaiting_.remove(node);
  awaiting_.push_back(node);
  num_denials_ = node.may_advance_elsewhere(here) ? 0 : std::min(num_denials_ + 1, num_awaiting_);
}

void ReadyList::post(ReadyNode& node) noexcept {
  // A node that is posted already will be looked at after what the caller published: the collector's exchange below
  // reads from this one.
  if (node.posted_.exchange(true, std::memory_order_acq_rel)) {
    return;
  }
  ReadyNode* top = posted_.load(std::memory_order_relaxed);
  do {
    node.next_posted_ = top;
  } while (!posted_.compare_exchange_weak(top, &node, std::memory_order_seq_cst, std::memory_order_relaxed));
  wake_if_armed(true);
}

void ReadyList::collect_posted() noexcept {
  ReadyNode* node = posted_.exchange(nullptr, std::memory_order_acquire);
  while (node != nullptr) {
    ReadyNode* next = node->next_posted_;
    node->posted_.exchange(false, std::memory_order_acq_rel);
    node->notify();
    node = next;
  }
}

void ReadyList::wake_if_armed(bool is_other_thread) noexcept {
  if (armed_.load(std::memory_order_seq_cst) && armed_.exchange(false, std::memory_order_seq_cst)) {
    if (is_other_thread) {
      waker_.store(own_cpus());
    }
    ::eventfd_write(event_fd_.get(), 1);
  }
}

bool ReadyList::arm() noexcept {
  while (ReadyNode* const node = looking_) {
    stop_looking(*node);
    node->prepare_sleep();
  }
  const bool woken = note_wake(armed_.exchange(true, std::memory_order_seq_cst));
  is_sleeper_ = true;
  if (!empty()) {
    wake_if_armed();
  }
  return woken;
}

bool ReadyList::disarm() noexcept {
  const bool woken = note_wake(armed_.exchange(false, std::memory_order_relaxed));
  is_sleeper_ = false;
  eventfd_t count = 0;
  if (unread_ != 0 && ::eventfd_read(event_fd_.get(), &count) == 0) {
    unread_ -= count;  // a thread that woke it may not have written yet
  }
  return woken;
}

/// A thread that disarms an armed engine writes to the descriptor, once: only then is there something to read. It may
/// write much later, when the engine has slept again; the write that ended that sleep must not count for both.
bool ReadyList::note_wake(bool still_armed) noexcept {
  const bool woken = is_sleeper_ && !still_armed;
  unread_ += woken ? 1 : 0;
  return woken;
}

ReadyNode::~ReadyNode() { leave(); }

void ReadyNode::keep_looking() noexcept {
  if (ready_ != nullptr) {
    ready_->keep_looking(*this);
  }
}

void ReadyNode::begin_looking() noexcept {
  if (ready_ != nullptr) {
    ready_->begin_looking(*this);
  }
}

void ReadyNode::stop_looking() noexcept {
  if (ready_ != nullptr) {
    ready_->stop_looking(*this);
  }
}

void ReadyNode::await_others() noexcept {
  if (ready_ != nullptr) {
    ready_->await_others(*this);
  }
}

void ReadyNode::leave_others() noexcept {
  if (ready_ != nullptr) {
    ready_->leave_others(*this);
  }
}

void ReadyNode::leave() noexcept {
  if (ready_ != nullptr) {
    ready_->remove(*this);
    ready_ = nullptr;
  }
}

}  // namespace pydoca::detail

namespace pydoca::backend {

namespace {

/// Nothing else is a notifier.
detail::ReadyNode& node_of(Notifier& notifier) noexcept { return static_cast<detail::ReadyNode&>(notifier); }

}  // namespace

void Notifier::list() noexcept {
  if (ready_ != nullptr) {
    ready_->push(node_of(*this));
  }
}

void Notifier::notify_from_any_thread() noexcept {
  if (ready_ != nullptr) {
    ready_->post(node_of(*this));
  }
}

void Notifier::offer_assist() noexcept {
  if (ready_ != nullptr) {
    ready_->offer_assist(node_of(*this));
  }
}

}  // namespace pydoca::backend

#include "detail/ready_list.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <cerrno>
#include <cstring>
#include <sys/eventfd.h>

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
  wake_if_armed();
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

void ReadyList::wake_if_armed() noexcept {
  if (armed_.load(std::memory_order_seq_cst) && armed_.exchange(false, std::memory_order_seq_cst)) {
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

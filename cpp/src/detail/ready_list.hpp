#pragma once

#include "pydoca/cpus.hpp"

#include "detail/drops.hpp"
#include "detail/fd.hpp"
#include "detail/intrusive_list.hpp"
#include "detail/ready_node.hpp"
#include "detail/thread/atomic.hpp"
#include "detail/thread/shared_cpus.hpp"

#include <cstddef>
#include <cstdint>

namespace pydoca::detail {

/// The nodes that a progress engine has to poll: nodes notified by its own thread in a plain list, nodes notified by
/// others in a lock-free stack that the owner takes over, and the wake-up of an engine that sleeps. The wake-up is
/// Dekker's pattern: a notifier posts, then looks whether the engine is armed; the engine arms, then looks whether
/// something is posted; sequentially consistent on both sides, so one of them sees the other.
class ReadyList {
 public:
  ReadyList();
  ~ReadyList() = default;
  ReadyList(const ReadyList&) = delete;
  ReadyList& operator=(const ReadyList&) = delete;

  int event_fd() const noexcept { return event_fd_.get(); }
  /// What the engine's callbacks drop. The owner's thread.
  Drops& drops() noexcept { return drops_; }

  // The owner's thread.
  void push(ReadyNode& node) noexcept {
    node.listed_ = true;
    ready_.push_back(node);
    if (armed_.load(std::memory_order_relaxed)) [[unlikely]] {
      wake_if_armed();
    }
  }
  /// The first node, taken off the list, or null. What others posted joins the list first, so that busy nodes starve
  /// none.
  ReadyNode* pop() noexcept {
    if (posted_.load(std::memory_order_relaxed) != nullptr) {
      collect_posted();
    }
    ReadyNode* const node = ready_.pop_front();
    if (node != nullptr) {
      node->listed_ = false;
    }
    return node;
  }
  /// Lets a node that was popped deliver one thing, and lists it again when it has more.
  bool progress(ReadyNode& node) noexcept {
    bool more = false;
    const bool advanced = node.progress_one(more);
    // Without more the node may be gone, as imports are that their callback destroys. More of nothing would spin.
    if (advanced && more && !node.listed_) {
      push(node);
    }
    return advanced;
  }
  /// The same with the listed nodes, until one has delivered something.
  bool progress() noexcept {
    for (ReadyNode* node = pop(); node != nullptr; node = pop()) {
      if (progress(*node)) {
        return true;
      }
    }
    return false;
  }
  void offer_assist(ReadyNode& node) noexcept;
  /// Lets the first node that offered do a piece of work; false when none had one.
  bool assist() noexcept;
  void keep_looking(ReadyNode& node) noexcept;
  void begin_looking(ReadyNode& node) noexcept;
  void stop_looking(ReadyNode& node) noexcept;
  bool is_looking() const noexcept { return looking_ != nullptr; }
  /// Lets those that keep looking deliver what they see, until one has; the one after it comes first the next time.
  bool look() noexcept {
    const ReadyNode* const last = looking_ != nullptr ? looking_->prev_looking_ : nullptr;
    for (bool was_last = false; looking_ != nullptr && !was_last;) {
      ReadyNode& node = *looking_;
      looking_ = node.next_looking_;
      was_last = &node == last;
      if (node.look() && progress(node)) {
        return true;
      }
    }
    return false;
  }
  void remove(ReadyNode& node) noexcept;
  bool empty() const noexcept { return ready_.empty() && posted_.load(std::memory_order_seq_cst) == nullptr; }
  /// Both return whether the list was armed before, and was woken since.
  bool arm() noexcept;
  bool disarm() noexcept;
  void await_others(ReadyNode& node) noexcept;
  void leave_others(ReadyNode& node) noexcept;
  /// Whether what the nodes wait for may come from another CPU than here, the CPUs of the owner's thread. Asks a few
  /// nodes, and others the next time, unless here is new: then it tells all of them.
  bool may_advance_elsewhere(Cpus here, bool is_new) noexcept;

  // Any thread.
  void post(ReadyNode& node) noexcept;

 private:
  void collect_posted() noexcept;
  void unlink(ReadyNode& node) noexcept {
    ready_.remove(node);
    node.listed_ = false;
  }
  void unlink_assist(ReadyNode& node) noexcept;
  void ask_next(Cpus here) noexcept;
  void wake_if_armed(bool is_other_thread = false) noexcept;
  bool note_wake(bool still_armed) noexcept;

  Drops drops_;
  IntrusiveList<ReadyNode, &ReadyNode::next_, &ReadyNode::prev_> ready_;
  IntrusiveList<ReadyNode, &ReadyNode::next_assist_, &ReadyNode::prev_assist_> assist_;
  IntrusiveList<ReadyNode, &ReadyNode::next_awaiting_, &ReadyNode::prev_awaiting_> awaiting_;
  std::size_t num_awaiting_ = 0;
  std::size_t num_denials_ = 0;   ///< nodes that were asked since the last one that may advance elsewhere
  ReadyNode* looking_ = nullptr;  ///< the next to look, in a ring
  bool is_sleeper_ = false;       ///< the owner armed it; another thread may have woken it since
  std::uint64_t unread_ = 0;      ///< writes to the descriptor that were made, or are about to be
  alignas(64) Atomic<ReadyNode*> posted_{nullptr};
  Atomic<bool> armed_{false};
  SharedCpus waker_;  ///< where the thread ran that ended the last sleep by a post
  Fd event_fd_;
};

}  // namespace pydoca::detail

#pragma once

/// Lists of objects that are linked through members of their own: no call allocates or fails. An object is in at most
/// one list by the same members, and outlives its place there.
namespace pydoca::detail {

/// First in, first out. next: the member that links.
template <class T, T* T::* next>
class IntrusiveQueue {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  T* front() const noexcept { return head_; }  ///< null when empty
  void push(T& object) noexcept {
    object.*next = nullptr;
    (head_ != nullptr ? tail_->*next : head_) = &object;
    tail_ = &object;
  }
  /// Null when empty.
  T* pop() noexcept {
    T* const first = head_;
    if (first != nullptr) {
      head_ = first->*next;
    }
    return first;
  }
  void clear() noexcept { head_ = nullptr; }

 private:
  T* head_ = nullptr;
  T* tail_ = nullptr;  ///< unless empty
};

/// Linked both ways, so that any object can be taken out.
template <class T, T* T::* next, T* T::* prev>
class IntrusiveList {
 public:
  T* front() const noexcept { return head_; }  ///< null when empty
  bool empty() const noexcept { return head_ == nullptr; }
  void push_back(T& object) noexcept {
    object.*next = nullptr;
    object.*prev = tail_;
    (tail_ != nullptr ? tail_->*next : head_) = &object;
    tail_ = &object;
  }
  void push_front(T& object) noexcept {
    object.*prev = nullptr;
    object.*next = head_;
    (head_ != nullptr ? head_->*prev : tail_) = &object;
    head_ = &object;
  }
  /// Null when empty.
  T* pop_front() noexcept {
    T* const first = head_;
    if (first != nullptr) {
      head_ = first->*next;
      (head_ != nullptr ? head_->*prev : tail_) = nullptr;
    }
    return first;
  }
  void remove(T& object) noexcept {
    T* const before = object.*prev;
    T* const after = object.*next;
    (before != nullptr ? before->*next : head_) = after;
    (after != nullptr ? after->*prev : tail_) = before;
  }

 private:
  T* head_ = nullptr;
  T* tail_ = nullptr;
};

}  // namespace pydoca::detail

#pragma once

#include "pydoca/backend/rdma.hpp"

namespace pydoca::detail {

/// Operations of queue pairs in order, linked by their next.
class OperationList {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  /// Null when empty.
  backend::RdmaOperation* front() const noexcept { return static_cast<backend::RdmaOperation*>(head_); }
  void push(backend::RdmaOperation& operation) noexcept {
    operation.next = nullptr;
    (head_ != nullptr ? tail_->next : head_) = &operation;
    tail_ = &operation;
  }
  void push_front(backend::RdmaOperation& operation) noexcept {
    tail_ = head_ != nullptr ? tail_ : &operation;
    operation.next = head_;
    head_ = &operation;
  }
  /// Null when empty.
  backend::RdmaOperation* pop() noexcept {
    backend::RdmaOperation* const first = front();
    if (first != nullptr) {
      head_ = first->next;
    }
    return first;
  }
  /// The first; not of an empty list.
  backend::RdmaOperation& take() noexcept {
    backend::RdmaOperation& first = *front();
    head_ = first.next;
    return first;
  }
  template <class Visit>
  void for_each(Visit visit) const noexcept {
    for (backend::Operation* operation = head_; operation != nullptr; operation = operation->next) {
      visit(static_cast<backend::RdmaOperation&>(*operation));
    }
  }

 private:
  backend::Operation* head_ = nullptr;
  backend::Operation* tail_ = nullptr;  ///< unless empty
};

}  // namespace pydoca::detail

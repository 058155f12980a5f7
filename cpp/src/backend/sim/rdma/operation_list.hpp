#pragma once

#include "pydoca/backend.hpp"

namespace pydoca::sim {

/// Operations in order, linked through themselves.
class OperationList {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  backend::RdmaOperation* front() const noexcept { return static_cast<backend::RdmaOperation*>(head_); }
  void push(backend::RdmaOperation& operation) noexcept {
    operation.next = nullptr;
    (tail_ != nullptr ? tail_->next : head_) = &operation;
    tail_ = &operation;
  }
  void push_front(backend::RdmaOperation& operation) noexcept {
    operation.next = head_;
    head_ = &operation;
    tail_ = tail_ != nullptr ? tail_ : &operation;
  }
  backend::RdmaOperation* pop() noexcept {
    backend::Operation* const operation = head_;
    if (operation != nullptr) {
      head_ = operation->next;
      tail_ = head_ != nullptr ? tail_ : nullptr;
    }
    return static_cast<backend::RdmaOperation*>(operation);
  }
  template <class Visit>
  void for_each(Visit visit) const noexcept {
    for (backend::Operation* operation = head_; operation != nullptr; operation = operation->next) {
      visit(static_cast<backend::RdmaOperation&>(*operation));
    }
  }

 private:
  backend::Operation* head_ = nullptr;
  backend::Operation* tail_ = nullptr;
};

}  // namespace pydoca::sim

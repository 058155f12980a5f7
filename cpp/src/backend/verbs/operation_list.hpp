#pragma once

#include "pydoca/backend.hpp"

namespace pydoca::verbs {

/// Operations of queue pairs in order, linked through themselves.
class OperationList {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  void push(backend::RdmaOperation& operation) noexcept {
    operation.next = nullptr;
    (head_ != nullptr ? tail_->next : head_) = &operation;
    tail_ = &operation;
  }
  /// The first; not of an empty list.
  backend::RdmaOperation& pop() noexcept {
    backend::Operation& first = *head_;
    head_ = first.next;
    return static_cast<backend::RdmaOperation&>(first);
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

}  // namespace pydoca::verbs

#include "pydoca/buf.hpp"

#include "core/memory/free_bufs.hpp"

#include <limits>

namespace pydoca {

Status Buf::set_data(std::uint64_t data, std::uint64_t data_len) noexcept {
  if (in_flight_ != 0) {
    return Status::in_use;
  }
  if (data < Segment::head || data - Segment::head > Segment::len || data_len > Segment::len - (data - Segment::head)) {
    return Status::invalid_value;
  }
  Segment::data = data;
  Segment::data_len = data_len;
  return Status::success;
}

Status Buf::inc_refcount(std::uint16_t* previous) noexcept {
  if (!leads_list()) {
    return Status::not_permitted;
  }
  if (refcount() == std::numeric_limits<std::uint16_t>::max()) {
    return Status::too_big;
  }
  if (previous != nullptr) {
    *previous = refcount();
  }
  ++standing_;
  return Status::success;
}

/// Most bufs have one reference and are not in lists.
Status Buf::dec_refcount(std::uint16_t* previous) noexcept {
  if (standing_ != head_bit + 1 || list_len_ != 1 || in_flight()) [[unlikely]] {
    return dec_refcount_slowly(previous);
  }
  if (previous != nullptr) {
    *previous = 1;
  }
  standing_ = head_bit;
  source_->put_back(*this);
  return Status::success;
}

Status Buf::dec_refcount_slowly(std::uint16_t* previous) noexcept {
  if (!is_first() || (refcount() == 1 && in_flight())) {
    return Status::not_permitted;
  }
  if (is_free()) {
    return Status::bad_state;
  }
  if (previous != nullptr) {
    *previous = refcount();
  }
  --standing_;
  if (is_free()) {
    put_back_list();
  }
  return Status::success;
}

void Buf::put_back_list() noexcept {
  for (Buf* element = this; element != nullptr;) {
    Buf* const following = element->next();
    element->Segment::next = nullptr;
    element->tail_ = element;
    element->list_len_ = 1;
    element->standing_ = head_bit;
    element->source_->put_back(*element);
    element = following;
  }
}

Status Buf::chain(Buf& other) noexcept {
  if (!leads_list() || &other == this || other.standing_ != head_bit + 1) {
    return Status::not_permitted;
  }
  if (in_flight() || other.in_flight()) {
    return Status::in_use;
  }
  tail_->Segment::next = &other;
  tail_ = other.tail_;
  list_len_ += other.list_len_;
  other.standing_ -= head_bit;
  return Status::success;
}

Status Buf::chain_tail(Buf& tail, Buf& other) noexcept {
  return leads_list() && tail_ == &tail ? chain(other) : Status::not_permitted;
}

Status Buf::unchain(Buf& element) noexcept {
  if (!leads_list()) {
    return Status::not_permitted;
  }
  if (in_flight()) {
    return Status::in_use;
  }
  std::uint32_t before = 1;
  Buf* previous = this;
  while (previous != nullptr && previous->next() != &element) {
    previous = previous->next();
    ++before;
  }
  if (previous == nullptr) {
    return Status::invalid_value;
  }
  element.standing_ = head_bit + 1;
  element.tail_ = tail_;
  element.list_len_ = list_len_ - before;
  previous->Segment::next = nullptr;
  tail_ = previous;
  list_len_ = before;
  return Status::success;
}

const Buf& Buf::last() const noexcept {
  if (is_first()) {
    return *tail_;
  }
  const Buf* element = this;
  while (element->next() != nullptr) {
    element = element->next();
  }
  return *element;
}

Status Buf::list_len(std::uint32_t& count) const noexcept {
  if (!is_first()) {
    return Status::not_permitted;
  }
  count = list_len_;
  return Status::success;
}

std::uint64_t Buf::list_tailroom() const noexcept {
  std::uint64_t sum = 0;
  for (const Segment* element = this; element != nullptr; element = element->next) {
    sum += element->tailroom();
  }
  return sum;
}

}  // namespace pydoca

#include "backend/sim/time/timeline.hpp"

#include <algorithm>
#include <utility>

namespace pydoca::sim {

Timeline::Timeline(std::uint32_t depth, std::uint32_t reorder_window)
    : window_(std::max<std::uint32_t>(reorder_window, 1)), instants_(depth), recent_(window_) {
  due_.reserve(depth);
  free_.reserve(depth);
  for (std::uint32_t index = depth; index > 0; --index) {
    free_.push_back(index - 1);
  }
}

void Timeline::add(backend::Operation& operation, std::uint64_t now, const Moments& moments, Random& random) noexcept {
  const std::uint64_t number = next_number_++;
  Recent& recent = recent_[number % window_];
  floor_ = std::max(floor_, recent.due);
  const std::uint32_t index = free_.back();
  free_.pop_back();
  const std::uint64_t due = std::max(moments.due, floor_);
  instants_[index] = {.due = due, .order = number, .number = number, .operation = &operation, .done = false};
  operation.slot = index;
  recent = {.instant = index, .due = due};
  due_.push_back(index);
  std::ranges::push_heap(due_, [this](std::uint32_t one, std::uint32_t other) { return is_later(one, other); });
  if (window_ > 1) {
    reorder(number, now, moments.earliest, random.below(window_));
  }
}

void Timeline::reorder(std::uint64_t number, std::uint64_t now, std::uint64_t earliest,
                       std::uint32_t places_back) noexcept {
  if (places_back == 0 || places_back > number) {
    return;
  }
  Recent& own = recent_[number % window_];
  Recent& other = recent_[(number - places_back) % window_];
  const bool is_there = instants_[other.instant].number == number - places_back;
  if (!is_there || other.due <= now || other.due < std::max(earliest, floor_) || other.due >= own.due) {
    return;
  }
  exchange(own.instant, other.instant);
  std::swap(own, other);
}

void Timeline::exchange(std::uint32_t one, std::uint32_t other) noexcept {
  Instant& a = instants_[one];
  Instant& b = instants_[other];
  std::swap(a.number, b.number);
  std::swap(a.operation, b.operation);
  std::swap(a.done, b.done);
  a.operation->slot = one;
  b.operation->slot = other;
}

void Timeline::pop() noexcept {
  std::ranges::pop_heap(due_, [this](std::uint32_t one, std::uint32_t other) { return is_later(one, other); });
  const std::uint32_t index = due_.back();
  due_.pop_back();
  instants_[index].number = nobody;
  free_.push_back(index);
}

}  // namespace pydoca::sim

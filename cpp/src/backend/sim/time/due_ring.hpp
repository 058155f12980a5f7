#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pydoca::sim {

/// The moments at which operations of an ordered queue are due, the earliest first. Knows no clock.
class DueRing {
 public:
  /// depth: at least 1. Throws std::bad_alloc.
  explicit DueRing(std::size_t depth) : moments_(depth) {}

  bool empty() const noexcept { return size_ == 0; }
  bool full() const noexcept { return size_ == moments_.size(); }
  /// It must not be full.
  void push(std::uint64_t due) noexcept { moments_[(first_ + size_++) % moments_.size()] = due; }
  // It must not be empty.
  std::uint64_t front() const noexcept { return moments_[first_]; }
  void pop() noexcept {
    first_ = (first_ + 1) % moments_.size();
    --size_;
  }

 private:
  std::vector<std::uint64_t> moments_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace pydoca::sim

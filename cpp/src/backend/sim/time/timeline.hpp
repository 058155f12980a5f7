#pragma once

#include "pydoca/backend/queue.hpp"

#include "backend/sim/time/pace.hpp"
#include "backend/sim/time/random.hpp"

#include <cstdint>
#include <vector>

namespace pydoca::sim {

/// The operations of one queue by the moment at which they are due. Knows no clock. Uses Operation::slot.
class Timeline {
 public:
  /// Throws std::bad_alloc.
  Timeline(std::uint32_t depth, std::uint32_t reorder_window);

  bool empty() const noexcept { return due_.empty(); }
  /// Adds an operation, at most depth of them. Raises due where the order asks for it. With a window it may change
  /// places with an earlier operation that is not due yet, if that is due late enough for this one.
  void add(backend::Operation& operation, std::uint64_t now, const Moments& moments, Random& random) noexcept;
  /// The device has executed it.
  void set_done(const backend::Operation& operation) noexcept { instants_[operation.slot].done = true; }

  // These are about the operation that is due first; there must be one.
  backend::Operation& first() const noexcept { return *instants_[due_.front()].operation; }
  std::uint64_t first_due() const noexcept { return instants_[due_.front()].due; }
  bool is_first_done() const noexcept { return instants_[due_.front()].done; }
  void pop() noexcept;
  /// Brings operation to the place of the first one.
  void put_first(backend::Operation& operation) noexcept { exchange(due_.front(), operation.slot); }

 private:
  static constexpr std::uint64_t nobody = UINT64_MAX;
  /// A moment at which an operation is due.
  struct Instant {
    std::uint64_t due = 0;
    std::uint64_t order = 0;        ///< orders instants with the same due
    std::uint64_t number = nobody;  ///< its operation's number, counted as they were added
    backend::Operation* operation = nullptr;
    bool done = false;
  };
  /// One of the last operations that were added, by its number modulo the window.
  struct Recent {
    std::uint32_t instant = 0;
    std::uint64_t due = 0;
  };

  bool is_later(std::uint32_t one, std::uint32_t other) const noexcept {
    const Instant& a = instants_[one];
    const Instant& b = instants_[other];
    return a.due != b.due ? a.due > b.due : a.order > b.order;
  }
  void exchange(std::uint32_t one, std::uint32_t other) noexcept;
  void reorder(std::uint64_t number, std::uint64_t now, std::uint64_t earliest, std::uint32_t places_back) noexcept;

  const std::uint32_t window_;
  std::vector<Instant> instants_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> due_;  ///< a heap, the first on top
  std::vector<Recent> recent_;
  std::uint64_t next_number_ = 0;
  std::uint64_t floor_ = 0;  ///< no operation that is added now may be due before; those that left the window set it
};

}  // namespace pydoca::sim

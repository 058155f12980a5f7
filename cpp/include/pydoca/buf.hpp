#pragma once

#include "pydoca/mmap.hpp"
#include "pydoca/segment.hpp"
#include "pydoca/status.hpp"

#include <cstdint>
#include <memory>

namespace pydoca::detail {
class Operands;
}

namespace pydoca {

class BufInventory;

/// A descriptor of a piece of a memory map (DOCA Core: doca_buf), from an inventory:
/// [head, data) headroom, [data, data + data_len) data, [data + data_len, head + len) tailroom.
/// A source's input is its data; output is appended to a destination's tailroom. Chained bufs form a list; the list is
/// its head, which alone has a reference count, and inner elements refuse list calls with not_permitted.
/// Setters answer in_use while a task has the buf. Not thread-safe. No call allocates.
class alignas(64) Buf : private Segment {
 public:
  Buf(const Buf&) = delete;
  Buf& operator=(const Buf&) = delete;

  std::uint64_t head() const noexcept { return Segment::head; }
  std::uint64_t len() const noexcept { return Segment::len; }
  std::uint64_t data() const noexcept { return Segment::data; }
  std::uint64_t data_len() const noexcept { return Segment::data_len; }
  std::uint64_t headroom() const noexcept { return Segment::data - Segment::head; }
  std::uint64_t tailroom() const noexcept { return Segment::tailroom(); }
  const std::shared_ptr<Mmap>& mmap() const noexcept { return mmap_; }

  /// invalid_value unless [data, data + data_len) lies in [head, head + len).
  Status set_data(std::uint64_t data, std::uint64_t data_len) noexcept;
  /// Keeps data; invalid_value beyond the tailroom.
  Status set_data_len(std::uint64_t data_len) noexcept { return set_data(Segment::data, data_len); }
  /// Empties the data section where it stands: needed before a destination is used again.
  Status reset_data_len() noexcept { return set_data(Segment::data, 0); }

  std::uint16_t refcount() const noexcept { return refcount_; }
  /// previous receives the count before. not_permitted on an inner element, too_big at 65535.
  Status inc_refcount(std::uint16_t* previous = nullptr) noexcept;
  /// At zero every element goes back to its inventory and the buf is gone. not_permitted on an inner element and, for
  /// the last reference, while a task has the buf; bad_state at zero already.
  Status dec_refcount(std::uint16_t* previous = nullptr) noexcept;

  /// Appends other, which becomes an inner element. not_permitted unless both are heads, apart, and other's count is 1.
  Status chain(Buf& other) noexcept;
  /// Cuts this list before element, which becomes the head of the rest with count 1. not_permitted unless this is a
  /// head, invalid_value unless element is a later element of this list.
  Status unchain(Buf& element) noexcept;

  Buf* next() const noexcept { return static_cast<Buf*>(Segment::next); }
  Buf& last() noexcept;
  bool is_first() const noexcept { return is_head_; }
  bool is_last() const noexcept { return Segment::next == nullptr; }
  bool is_in_list() const noexcept { return !is_head_ || Segment::next != nullptr; }
  /// not_permitted on an inner element.
  Status list_len(std::uint32_t& count) const noexcept;

  bool in_flight() const noexcept { return in_flight_ != 0; }

  // Of the whole list; heads only.
  std::uint32_t num_elements() const noexcept { return list_len_; }
  std::uint64_t list_data_len() const noexcept {
    std::uint64_t sum = Segment::data_len;
    for (const Segment* element = Segment::next; element != nullptr; element = element->next) {
      sum += element->data_len;
    }
    return sum;
  }
  std::uint64_t list_tailroom() const noexcept;

 private:
  friend class BufInventory;
  friend class detail::Operands;
  Buf() = default;
  void change_holds(std::int32_t change) noexcept {
    for (Buf* element = this; element != nullptr; element = element->next()) {
      element->in_flight_ += static_cast<std::uint32_t>(change);
    }
  }

  // With the segment, the first cache line: all that a task touches.
  std::uint32_t in_flight_ = 0;  ///< tasks that have this element
  std::uint32_t list_len_ = 1;   ///< heads only
  std::uint16_t refcount_ = 0;
  bool is_head_ = true;
  bool filling_ = false;  ///< a task fills this list; heads only

  std::shared_ptr<Mmap> mmap_;
  BufInventory* inventory_ = nullptr;
  Buf* tail_ = nullptr;  ///< heads only
};

static_assert(sizeof(Buf) <= 128, "a buf descriptor takes at most two cache lines");

}  // namespace pydoca

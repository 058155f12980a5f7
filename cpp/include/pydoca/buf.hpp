#pragma once

#include "pydoca/mmap.hpp"
#include "pydoca/segment.hpp"
#include "pydoca/status.hpp"

#include <atomic>
#include <cstdint>
#include <utility>

namespace pydoca::detail {
class Operands;
}

#pragma GCC visibility push(default)

namespace pydoca {

class BufSource;

/// A descriptor of a piece of a memory map (DOCA Core Programming Guide, buffers: doca_buf), from an inventory
/// or a pool. Its sections, as addresses in the map's address space:
///
/// | section | from | to |
/// |---|---|---|
/// | headroom | head() | data() |
/// | data | data() | data() + data_len() |
/// | tailroom | data() + data_len() | head() + len() |
///
/// A task reads the data of a source, and appends to the tailroom of a destination: on success the destination's
/// data_len() grows. Chained bufs form a list. The list is its first element, the head, which alone has a reference
/// count; calls on the list answer not_permitted when they are made on a later element.
///
/// Ownership: a reference belongs to the caller, and dec_refcount() gives it back. A task that was submitted has the
/// whole list until it completes: setters then answer in_use, and the last reference cannot be given back. The buf
/// holds its map; while it is out, the map cannot stop.
///
/// Thread safety: one thread at a time for all bufs of an inventory or pool, the progress engine's while tasks have
/// them. No call allocates, blocks or throws.
class alignas(64) Buf : private Segment {
 public:
  Buf(const Buf&) = delete;
  Buf& operator=(const Buf&) = delete;

  // Addresses, and lengths in bytes, of this element.
  std::uint64_t head() const noexcept { return Segment::head; }
  std::uint64_t len() const noexcept { return Segment::len; }
  std::uint64_t data() const noexcept { return Segment::data; }
  std::uint64_t data_len() const noexcept { return Segment::data_len; }
  std::uint64_t headroom() const noexcept { return Segment::data - Segment::head; }
  std::uint64_t tailroom() const noexcept { return Segment::tailroom(); }
  /// The map, which lives as long as the buf is out.
  const Mmap* mmap() const noexcept { return mmap_; }
  Mmap* mmap() noexcept { return mmap_; }
  /// The inventory or pool that it is of, which lives as long.
  const BufSource& source() const noexcept { return *source_; }

  /// Places the data section (doca_buf_set_data). invalid_value unless [data, data + data_len) lies in
  /// [head, head + len), in_use while a task has the buf.
  Status set_data(std::uint64_t data, std::uint64_t data_len) noexcept;
  /// The same with data() as it is.
  Status set_data_len(std::uint64_t data_len) noexcept { return set_data(Segment::data, data_len); }
  /// Empties the data section where it is (doca_buf_reset_data_len), so that a destination can be filled again. in_use
  /// while a task has the buf.
  Status reset_data_len() noexcept { return set_data(Segment::data, 0); }

  /// The count of a head is 1 or more; a later element's has no meaning.
  std::uint16_t refcount() const noexcept { return static_cast<std::uint16_t>(standing_); }
  /// Adds a reference to the list; previous, unless null, receives the count before (doca_buf_inc_refcount).
  /// not_permitted on a later element and when the buf is back already, too_big at 65535.
  Status inc_refcount(std::uint16_t* previous = nullptr) noexcept;
  /// Gives a reference back; previous, unless null, receives the count before (doca_buf_dec_refcount). With the last
  /// one every element returns to where it is from, and the buf must not be used any more. not_permitted on a later
  /// element and, for the last reference, while a task has the buf; bad_state when the buf is back already.
  Status dec_refcount(std::uint16_t* previous = nullptr) noexcept;

  /// Appends the list other, whose head becomes a later element of this list: the caller's reference to other goes over
  /// to this list (doca_buf_chain_list). not_permitted unless both are heads, of two lists, and other's count is 1;
  /// in_use while a task has one of them.
  Status chain(Buf& other) noexcept;
  /// The same for a program that knows the last element of this list (doca_buf_chain_list_tail). It is also
  /// not_permitted for another element. chain() takes no longer, as the head knows its last element.
  Status chain_tail(Buf& tail, Buf& other) noexcept;
  /// Cuts this list before element, which becomes the head of the rest, with a count of 1 that is the caller's
  /// (doca_buf_unchain_list). not_permitted on a later element, invalid_value unless element is a later element of this
  /// list, in_use while a task has the list. Takes time in proportion to the elements before.
  Status unchain(Buf& element) noexcept;

  /// Null for the last.
  const Buf* next() const noexcept { return static_cast<const Buf*>(Segment::next); }
  Buf* next() noexcept { return static_cast<Buf*>(Segment::next); }
  /// The last element of the list, from any element.
  const Buf& last() const noexcept;
  Buf& last() noexcept { return const_cast<Buf&>(std::as_const(*this).last()); }
  bool is_first() const noexcept { return (standing_ & head_bit) != 0; }
  /// Whether it was given back, and not taken since.
  bool is_free() const noexcept { return standing_ == head_bit; }
  /// Whether it is the first of a list that is not free.
  bool leads_list() const noexcept { return standing_ > head_bit; }
  bool is_last() const noexcept { return Segment::next == nullptr; }
  bool is_in_list() const noexcept { return !is_first() || Segment::next != nullptr; }
  /// How many elements the list has. not_permitted on a later element.
  Status list_len(std::uint32_t& count) const noexcept;

  /// Whether a task has this element that was submitted, handed over to its engine, or belongs to a running graph. It
  /// is not given back then, and its list stays as it is; until the submission its data section may change.
  bool in_flight() const noexcept {
    return (in_flight_ | claimed_ | handed_over_.load(std::memory_order_relaxed)) != 0;
  }

  // These count the whole list, in bytes, from its head; on a later element they have no meaning.
  std::uint32_t num_elements() const noexcept { return list_len_; }  ///< at least 1
  std::uint64_t list_data_len() const noexcept {
    std::uint64_t sum = Segment::data_len;
    for (const Segment* element = Segment::next; element != nullptr; element = element->next) {
      sum += element->data_len;
    }
    return sum;
  }
  std::uint64_t list_tailroom() const noexcept;

 private:
  friend class BufSource;
  friend class detail::Operands;
  Buf() = default;
  ~Buf() = default;
  /// The same as dec_refcount(), for all but the last reference to a list of one element.
  [[gnu::noinline]] Status dec_refcount_slowly(std::uint16_t* previous) noexcept;
  /// Gives every element of this list back.
  [[gnu::noinline]] void put_back_list() noexcept;
  [[gnu::always_inline]] void change_holds(std::int32_t change) noexcept {
    for (Buf* element = this; element != nullptr; element = element->next()) {
      element->in_flight_ += static_cast<std::uint32_t>(change);
    }
  }

  void change_claims(std::int32_t change) noexcept {
    for (Buf* element = this; element != nullptr; element = element->next()) {
      element->claimed_ += static_cast<std::uint32_t>(change);
    }
  }
  /// Any thread may call it.
  void change_handovers(std::int32_t change) noexcept {
    for (Buf* element = this; element != nullptr; element = element->next()) {
      element->handed_over_.fetch_add(static_cast<std::uint32_t>(change), std::memory_order_relaxed);
    }
  }

  // With the segment, the first cache line: all that a task touches.
  std::uint32_t in_flight_ = 0;  ///< tasks that have this element
  std::uint32_t list_len_ = 1;   ///< heads only
  static constexpr std::uint32_t head_bit = 1U << 16U;
  /// The reference count, below the bit of a head: one word, so that a submission asks it once whether the buf may lead
  /// a task's list. It is written as a whole: a core waits before it reads what was written in parts.
  std::uint32_t standing_ = head_bit;
  bool filling_ = false;  ///< a task fills this list; heads only

  std::uint32_t claimed_ = 0;                  ///< tasks that running graphs will submit
  std::atomic<std::uint32_t> handed_over_{0};  ///< tasks that other threads have handed over
  Mmap* mmap_ = nullptr;
  BufSource* source_ = nullptr;
  Buf* tail_ = this;  ///< heads only
};

static_assert(sizeof(Buf) <= 128, "a buf descriptor takes at most two cache lines");

}  // namespace pydoca

#pragma GCC visibility pop

#pragma once

#include "pydoca/backend/memory.hpp"
#include "pydoca/buf.hpp"
#include "pydoca/segment.hpp"
#include "pydoca/status.hpp"
#include "pydoca/task.hpp"

#include "library/limits.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pydoca::detail {

/// What a library does with the bufs of its tasks, and no application may. A null buf means no bytes.
class Operands {
 public:
  /// What a queue is given.
  static Segment* segment_of(Buf* buf) noexcept { return buf; }
  /// The same of a list on this side. What is missing or no list's head is null, and fails in the device, as unchecked
  /// fields do. False for a buf that was given back, which no task may have.
  template <class S>
  static bool find_segment(Buf* list, S*& segment) noexcept {
    if (list != nullptr && list->leads_list()) [[likely]] {
      segment = list;
      return true;
    }
    segment = nullptr;
    return list == nullptr || !list->is_free();
  }

  /// Whether a list on this side breaks a limit of its place, its length or its memory.
  static bool break_limit(Violation* why, const char* operand, const Buf& list, std::uint32_t max_elements,
                          const char* setting, const Device& device) noexcept {
    if (!list.leads_list()) [[unlikely]] {
      return broken(why, {.limit = list.is_first() ? limits::given_back : limits::not_first, .operand = operand});
    }
    if (list.list_len_ > max_elements) [[unlikely]] {
      return broken(why, {.limit = limits::list_length,
                          .operand = operand,
                          .setting = setting,
                          .value = list.list_len_,
                          .allowed = max_elements});
    }
    return are_beyond_device(why, operand, list, device);
  }
  [[gnu::always_inline]] static bool are_beyond_device(Violation* why, const char* operand, const Buf& list,
                                                       const Device& device) noexcept {
    return !reaches(list, device.ordinal()) && broken(why, {.limit = limits::not_on_device, .operand = operand});
  }
  /// Why the memory of a buf cannot be reached any more; empty while it can.
  static std::string_view lost(const Buf& buf, std::size_t ordinal) noexcept {
    const backend::MemoryRegion* const region = buf.regions[ordinal];
    return region != nullptr ? region->lost() : std::string_view();
  }

  /// Whether a task is filling buf: a second one would write to the same tailroom.
  static bool is_filling(const Buf* buf) noexcept { return buf != nullptr && buf->filling_; }

  /// A task that has buf will be submitted (change is 1); later it has been, or will not be (-1).
  static void promise(Buf* buf, std::int32_t change, Promise promise) noexcept {
    if (buf == nullptr) {
      return;
    }
    if (promise == Promise::handover) {
      buf->change_handovers(change);
    } else {
      buf->change_claims(change);
    }
  }

  // While a task has them, bufs cannot be changed or given back.
  static void lend(Buf* buf) noexcept {
    if (buf != nullptr) {
      buf->change_holds(1);
    }
  }
  [[gnu::always_inline]] static void take_back(Buf* buf) noexcept {
    if (buf != nullptr) {
      buf->change_holds(-1);
    }
  }
  /// Lends a buf that the task fills.
  static void lend_to_fill(Buf* buf) noexcept {
    if (buf != nullptr) {
      buf->change_holds(1);
      buf->filling_ = true;
    }
  }
  /// length: the bytes that the task has appended.
  static void take_back_filled(Buf* buf, std::uint64_t length) noexcept {
    if (buf == nullptr) {
      return;
    }
    buf->filling_ = false;
    if (buf->is_last()) [[likely]] {
      --buf->in_flight_;
      buf->Segment::data_len += length;  // the device has checked that there is room
    } else {
      buf->change_holds(-1);
      append(*buf, length);
    }
  }

 private:
  /// Whether the device of this ordinal has registered the memory of buf and of all that follow it.
  static bool reaches(const Buf& buf, std::size_t ordinal) noexcept {
    for (const Segment* segment = &buf; segment != nullptr; segment = segment->next) {
      if (segment->regions[ordinal] == nullptr) {
        return false;
      }
    }
    return true;
  }
  static void append(Buf& buf, std::uint64_t length) noexcept {
    for (Segment* element = &buf; length != 0; element = element->next) {
      const std::uint64_t taken = std::min(length, element->tailroom());
      element->data_len += taken;
      length -= taken;
    }
  }
};

}  // namespace pydoca::detail

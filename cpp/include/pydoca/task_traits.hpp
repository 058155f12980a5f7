#pragma once

#include "pydoca/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pydoca {

/// An operand or a result of a task, by the names of DOCA's setters (doca_<library>_task_<task>_set_<operand>).
enum class Operand : std::uint8_t {
  none,
  src,             ///< a buf
  dst,             ///< a buf
  buf,             ///< a buf
  result,          ///< a buf
  event,           ///< a peer's sync event
  immediate_data,  ///< 32 bits
  cmp_data,        ///< 64 bits, as the following
  swap_data,
  add_data,
  set_val,  ///< 64 bits, as the following
  inc_val,
  wait_val,
  mask,
  fetched,    ///< where the value before is stored
  algorithm,  ///< by name in Python
};

[[nodiscard]] constexpr std::string_view name_of(Operand operand) noexcept {
  constexpr std::array<std::string_view, 16> names{
      "",          "src",      "dst",     "buf",     "result",   "event", "immediate_data", "cmp_data",
      "swap_data", "add_data", "set_val", "inc_val", "wait_val", "mask",  "fetched",        "algorithm"};
  return names[static_cast<std::size_t>(operand)];
}

/// A kind of task, as data. A library with several kinds has one table of them (rdma_tasks.hpp,
/// sync_event_context.hpp), from which its setters, checks, names and messages, and the parameters of its bindings'
/// methods follow.
struct TaskTraits {
  static constexpr std::size_t max_operands = 4;

  const char* name;                                ///< "memcpy", of doca_dma_task_memcpy
  std::array<Operand, max_operands> operands{};    ///< in the order of DOCA's allocate_init; none at the end
  Operand sends = Operand::none;                   ///< the buf whose data is read, on this side
  Operand fills = Operand::none;                   ///< the buf whose tailroom is written, on this side
  Operand remote = Operand::none;                  ///< the buf that names a network peer's memory
  Access remote_access = Access::local_read_only;  ///< what the peer's memory, or its event, must permit
  bool bufs_may_lack = false;                      ///< a missing buf stands for no bytes
  bool answers_word = false;                       ///< what is filled gets 8 bytes: a value of the peer's
  Operand optional = Operand::none;                ///< the last operand, a number, if a call may leave it out
  std::uint64_t default_number = 0;                ///< what then stands for it

  constexpr std::size_t num_operands() const noexcept {
    std::size_t count = 0;
    while (count < max_operands && operands[count] != Operand::none) {
      ++count;
    }
    return count;
  }
  constexpr bool has(Operand operand) const noexcept {
    for (const Operand known : operands) {
      if (known == operand && operand != Operand::none) {
        return true;
      }
    }
    return false;
  }
  /// The buf on this side; of a task with two, the one that is filled.
  constexpr Operand local() const noexcept { return fills != Operand::none ? fills : sends; }
};

}  // namespace pydoca

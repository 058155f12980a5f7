#pragma once

#include "pydoca/types.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#pragma GCC visibility push(default)

namespace pydoca {

enum class OperandType : std::uint8_t {
  source,      ///< a buf whose data is read, on this side
  target,      ///< a buf whose tailroom is filled, on this side
  remote,      ///< a buf that names a network peer's memory
  event,       ///< a network peer's sync event
  u32,         ///< a number of 32 bits
  u64,         ///< a number of 64 bits
  enumerator,  ///< a number that has a name
  fetched,     ///< a word in which the task stores a value
};

/// An operand of a task, as data.
struct Operand {
  const char* name;  ///< that of DOCA's setter: "src", of doca_dma_task_memcpy_set_src
  OperandType type;
  const char* parameter = name;                  ///< the parameter of the method that makes the task
  std::span<const std::string_view> names = {};  ///< an enumerator's names, by number
  bool may_be_left_out = false;                  ///< whether a call need not give the number
  std::uint64_t standing = 0;                    ///< what it then is

  constexpr bool is_buf() const noexcept {
    return type == OperandType::source || type == OperandType::target || type == OperandType::remote;
  }
  constexpr bool is_number() const noexcept {
    return type == OperandType::u32 || type == OperandType::u64 || type == OperandType::enumerator;
  }
};

/// A kind of task, as data. A library with several kinds has one table of them (rdma_tasks.hpp,
/// sync_event_context.hpp), from which its setters, checks, names and messages, and the parameters of its bindings'
/// methods follow. An operand is known by its place.
struct TaskTraits {
  static constexpr std::size_t none = ~std::size_t{0};

  const char* name;                                ///< "memcpy", of doca_dma_task_memcpy
  std::span<const Operand> operands;               ///< ordered as in DOCA's allocate_init
  Access remote_access = Access::local_read_only;  ///< what the peer's memory, or its event, must permit
  bool bufs_may_lack = false;                      ///< whether a buf may be missing, which means no bytes
  bool answers_word = false;                       ///< what is filled gets 8 bytes: a value of the peer's

  /// The place of the operand with that name, or of the first one of that type; none if the task has no such operand.
  constexpr std::size_t find(std::string_view wanted) const noexcept {
    for (std::size_t place = 0; place < operands.size(); ++place) {
      if (wanted == operands[place].name) {
        return place;
      }
    }
    return none;
  }
  constexpr std::size_t find(OperandType wanted) const noexcept {
    for (std::size_t place = 0; place < operands.size(); ++place) {
      if (wanted == operands[place].type) {
        return place;
      }
    }
    return none;
  }
  constexpr bool has(std::string_view wanted) const noexcept { return find(wanted) != none; }
  constexpr bool has(OperandType wanted) const noexcept { return find(wanted) != none; }

  /// The buf on this side; a task with two has the one that is filled.
  constexpr const Operand& local() const noexcept {
    return operands[has(OperandType::target) ? find(OperandType::target) : find(OperandType::source)];
  }
};

/// The operands of a task from src to dst.
inline constexpr Operand source_and_target[] = {{.name = "src", .type = OperandType::source},
                                                {.name = "dst", .type = OperandType::target}};

}  // namespace pydoca

#pragma GCC visibility pop

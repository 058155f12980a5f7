#pragma once

#include "pydoca/task_traits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#pragma GCC visibility push(default)

namespace pydoca {

/// The tasks of an Rdma context, by DOCA's names (doca_rdma_task_<name>).
enum class RdmaTaskKind : std::uint8_t {
  receive,
  send,
  send_imm,
  read,
  write,
  write_imm,
  atomic_cmp_swp,
  atomic_fetch_add,
  remote_net_sync_event_get,
  remote_net_sync_event_notify_set,
  remote_net_sync_event_notify_add,
};
inline constexpr std::size_t num_rdma_task_kinds = 11;

namespace rdma_operands {

inline constexpr Operand source{.name = "src", .type = OperandType::source};
inline constexpr Operand target{.name = "dst", .type = OperandType::target};
inline constexpr Operand remote_source{.name = "src", .type = OperandType::remote};
inline constexpr Operand remote_target{.name = "dst", .type = OperandType::remote};
inline constexpr Operand answer{.name = "result", .type = OperandType::target};
inline constexpr Operand event{.name = "event", .type = OperandType::event};
inline constexpr Operand immediate{.name = "immediate_data", .type = OperandType::u32};
inline constexpr Operand compare{.name = "cmp_data", .type = OperandType::u64};
inline constexpr Operand swap{.name = "swap_data", .type = OperandType::u64};
inline constexpr Operand add{.name = "add_data", .type = OperandType::u64};

inline constexpr Operand receive[] = {target};
inline constexpr Operand send[] = {source};
inline constexpr Operand send_imm[] = {source, immediate};
inline constexpr Operand read[] = {remote_source, target};
inline constexpr Operand write[] = {source, remote_target};
inline constexpr Operand write_imm[] = {source, remote_target, immediate};
inline constexpr Operand cmp_swp[] = {remote_target, answer, compare, swap};
inline constexpr Operand fetch_add[] = {remote_target, answer, add};
inline constexpr Operand event_get[] = {event, target};
inline constexpr Operand event_set[] = {event, source};
inline constexpr Operand event_add[] = {event, answer, add};

}  // namespace rdma_operands

/// The table is indexed by RdmaTaskKind.
inline constexpr std::array<TaskTraits, num_rdma_task_kinds> rdma_tasks{{
    {.name = "receive", .operands = rdma_operands::receive, .bufs_may_lack = true},
    {.name = "send", .operands = rdma_operands::send, .bufs_may_lack = true},
    {.name = "send_imm", .operands = rdma_operands::send_imm, .bufs_may_lack = true},
    {.name = "read", .operands = rdma_operands::read, .remote_access = Access::rdma_read, .bufs_may_lack = true},
    {.name = "write", .operands = rdma_operands::write, .remote_access = Access::rdma_write, .bufs_may_lack = true},
    {.name = "write_imm",
     .operands = rdma_operands::write_imm,
     .remote_access = Access::rdma_write,
     .bufs_may_lack = true},
    {.name = "atomic_cmp_swp",
     .operands = rdma_operands::cmp_swp,
     .remote_access = Access::rdma_atomic,
     .answers_word = true},
    {.name = "atomic_fetch_add",
     .operands = rdma_operands::fetch_add,
     .remote_access = Access::rdma_atomic,
     .answers_word = true},
    {.name = "remote_net_sync_event_get",
     .operands = rdma_operands::event_get,
     .remote_access = Access::rdma_read,
     .answers_word = true},
    {.name = "remote_net_sync_event_notify_set",
     .operands = rdma_operands::event_set,
     .remote_access = Access::rdma_write},
    {.name = "remote_net_sync_event_notify_add",
     .operands = rdma_operands::event_add,
     .remote_access = Access::rdma_atomic,
     .answers_word = true},
}};

[[nodiscard]] constexpr const TaskTraits& traits_of(RdmaTaskKind kind) noexcept {
  return rdma_tasks[static_cast<std::size_t>(kind)];
}
/// "atomic_cmp_swp" ...
[[nodiscard]] constexpr std::string_view name_of(RdmaTaskKind kind) noexcept { return traits_of(kind).name; }

}  // namespace pydoca

#pragma GCC visibility pop

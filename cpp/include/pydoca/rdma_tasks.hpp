#pragma once

#include "pydoca/task_traits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

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

/// By RdmaTaskKind.
inline constexpr std::array<TaskTraits, num_rdma_task_kinds> rdma_tasks{{
    {.name = "receive", .operands = {Operand::dst}, .fills = Operand::dst, .bufs_may_lack = true},
    {.name = "send", .operands = {Operand::src}, .sends = Operand::src, .bufs_may_lack = true},
    {.name = "send_imm",
     .operands = {Operand::src, Operand::immediate_data},
     .sends = Operand::src,
     .bufs_may_lack = true},
    {.name = "read",
     .operands = {Operand::src, Operand::dst},
     .fills = Operand::dst,
     .remote = Operand::src,
     .remote_access = Access::rdma_read,
     .bufs_may_lack = true},
    {.name = "write",
     .operands = {Operand::src, Operand::dst},
     .sends = Operand::src,
     .remote = Operand::dst,
     .remote_access = Access::rdma_write,
     .bufs_may_lack = true},
    {.name = "write_imm",
     .operands = {Operand::src, Operand::dst, Operand::immediate_data},
     .sends = Operand::src,
     .remote = Operand::dst,
     .remote_access = Access::rdma_write,
     .bufs_may_lack = true},
    {.name = "atomic_cmp_swp",
     .operands = {Operand::dst, Operand::result, Operand::cmp_data, Operand::swap_data},
     .fills = Operand::result,
     .remote = Operand::dst,
     .remote_access = Access::rdma_atomic,
     .answers_word = true},
    {.name = "atomic_fetch_add",
     .operands = {Operand::dst, Operand::result, Operand::add_data},
     .fills = Operand::result,
     .remote = Operand::dst,
     .remote_access = Access::rdma_atomic,
     .answers_word = true},
    {.name = "remote_net_sync_event_get",
     .operands = {Operand::event, Operand::dst},
     .fills = Operand::dst,
     .remote_access = Access::rdma_read,
     .answers_word = true},
    {.name = "remote_net_sync_event_notify_set",
     .operands = {Operand::event, Operand::src},
     .sends = Operand::src,
     .remote_access = Access::rdma_write},
    {.name = "remote_net_sync_event_notify_add",
     .operands = {Operand::event, Operand::result, Operand::add_data},
     .fills = Operand::result,
     .remote_access = Access::rdma_atomic,
     .answers_word = true},
}};

[[nodiscard]] constexpr const TaskTraits& traits_of(RdmaTaskKind kind) noexcept {
  return rdma_tasks[static_cast<std::size_t>(kind)];
}
/// "atomic_cmp_swp" ...
[[nodiscard]] constexpr std::string_view name_of(RdmaTaskKind kind) noexcept { return traits_of(kind).name; }

}  // namespace pydoca

#include "pydoca/rdma.hpp"

#include "core/task_pool.hpp"
#include "library/rdma/rdma.hpp"
#include "library/rdma/rdma_task.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

/// The functions that take a task from an Rdma context.
namespace pydoca {

Status library::Rdma::allocate(RdmaTaskKind kind, pydoca::RdmaConnection* connection, std::uint64_t user_data,
                               pydoca::RdmaTask*& task) noexcept {
  if (state() != ContextState::running) {
    return Status::bad_state;
  }
  if (connection != nullptr && (connection->rdma() != this || !connection->is_connected())) {
    return connection->rdma() != nullptr && connection->rdma() != this ? Status::invalid_value : Status::not_connected;
  }
  const Status status = detail::ContextTasks::take(*this, static_cast<std::size_t>(kind), user_data, task);
  if (status == Status::success) [[likely]] {
    of(*task).connection_ = connection != nullptr ? connection->shared_from_this() : nullptr;
  }
  return status;
}

template <RdmaTaskKind kind, std::size_t place, class Value>
inline void library::RdmaTask::give(const Value& value) noexcept {
  constexpr const Operand& given = traits_of(kind).operands[place];
  if constexpr (given.type == OperandType::event) {
    event_ = value;
  } else if constexpr (given.type == OperandType::u32) {
    immediate = value;
  } else if constexpr (given.type == OperandType::u64) {
    (given.name == std::string_view("cmp_data") ? compare : operand) = value;
  } else {
    (given.type == OperandType::remote ? there_ : here_) = value;
  }
}

namespace {

/// A task of the kind with its operands, which are given in the order of the table.
template <RdmaTaskKind kind, class... Operands>
Status allocate(Rdma& rdma, RdmaConnection* connection, std::uint64_t user_data, RdmaTask*& task,
                const Operands&... operands) noexcept {
  constexpr const TaskTraits& traits = traits_of(kind);
  static_assert(traits.operands.size() == sizeof...(operands));
  const Status status = library::of(rdma).allocate(kind, connection, user_data, task);
  if (status == Status::success) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      (library::of(*task).give<kind, i>(operands), ...);
    }(std::index_sequence_for<Operands...>());
  }
  return status;
}

}  // namespace

Status Rdma::receive(Buf* dst, std::uint64_t user_data, RdmaTask*& task) noexcept {
  return allocate<RdmaTaskKind::receive>(*this, nullptr, user_data, task, dst);
}
Status Rdma::send(RdmaConnection& connection, Buf* src, std::uint64_t user_data, RdmaTask*& task) noexcept {
  return allocate<RdmaTaskKind::send>(*this, &connection, user_data, task, src);
}
Status Rdma::send_imm(RdmaConnection& connection, Buf* src, std::uint32_t immediate_data, std::uint64_t user_data,
                      RdmaTask*& task) noexcept {
  return allocate<RdmaTaskKind::send_imm>(*this, &connection, user_data, task, src, immediate_data);
}
Status Rdma::read(RdmaConnection& connection, Buf* src, Buf* dst, std::uint64_t user_data, RdmaTask*& task) noexcept {
  return allocate<RdmaTaskKind::read>(*this, &connection, user_data, task, src, dst);
}
Status Rdma::write(RdmaConnection& connection, Buf* src, Buf* dst, std::uint64_t user_data, RdmaTask*& task) noexcept {
  return allocate<RdmaTaskKind::write>(*this, &connection, user_data, task, src, dst);
}
Status Rdma::write_imm(RdmaConnection& connection, Buf* src, Buf* dst, std::uint32_t immediate_data,
                       std::uint64_t user_data, RdmaTask*& task) noexcept {
  return allocate<RdmaTaskKind::write_imm>(*this, &connection, user_data, task, src, dst, immediate_data);
}
Status Rdma::atomic_cmp_swp(RdmaConnection& connection, Buf* dst, Buf* result, std::uint64_t cmp_data,
                            std::uint64_t swap_data, std::uint64_t user_data, RdmaTask*& task) noexcept {
  return allocate<RdmaTaskKind::atomic_cmp_swp>(*this, &connection, user_data, task, dst, result, cmp_data, swap_data);
}
Status Rdma::atomic_fetch_add(RdmaConnection& connection, Buf* dst, Buf* result, std::uint64_t add_data,
                              std::uint64_t user_data, RdmaTask*& task) noexcept {
  return allocate<RdmaTaskKind::atomic_fetch_add>(*this, &connection, user_data, task, dst, result, add_data);
}
Status Rdma::remote_net_sync_event_get(RdmaConnection& connection, const std::shared_ptr<SyncEventRemoteNet>& event,
                                       Buf* dst, std::uint64_t user_data, RdmaTask*& task) noexcept {
  return allocate<RdmaTaskKind::remote_net_sync_event_get>(*this, &connection, user_data, task, event, dst);
}
Status Rdma::remote_net_sync_event_notify_set(RdmaConnection& connection,
                                              const std::shared_ptr<SyncEventRemoteNet>& event, Buf* src,
                                              std::uint64_t user_data, RdmaTask*& task) noexcept {
  return allocate<RdmaTaskKind::remote_net_sync_event_notify_set>(*this, &connection, user_data, task, event, src);
}
Status Rdma::remote_net_sync_event_notify_add(RdmaConnection& connection,
                                              const std::shared_ptr<SyncEventRemoteNet>& event, Buf* result,
                                              std::uint64_t add_data, std::uint64_t user_data,
                                              RdmaTask*& task) noexcept {
  return allocate<RdmaTaskKind::remote_net_sync_event_notify_add>(*this, &connection, user_data, task, event, result,
                                                                  add_data);
}

}  // namespace pydoca

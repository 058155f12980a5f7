#include "library/rdma/rdma_task.hpp"

#include "core/task_pool.hpp"
#include "core/violation.hpp"
#include "library/operands.hpp"
#include "library/rdma/rdma.hpp"
#include "library/rdma/rdma_connection.hpp"
#include "library/set_operand.hpp"
#include "library/sync_event/sync_event.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace pydoca {

namespace {

using detail::Operands;

constexpr std::uint64_t word_size = sizeof(std::uint64_t);
static_assert(name_of(static_cast<RdmaTaskKind>(backend::RdmaOpcode::counter_add)) ==
                  "remote_net_sync_event_notify_add" &&
              backend::num_rdma_opcodes == num_rdma_task_kinds);  // a kind's number is its opcode's

/// A busy context checks for connection events once in this many completions.
constexpr std::uint32_t completions_between_events = 64;

/// What the device did wrong, or was asked to; not what a peer did, nor what follows from another task's failure.
bool is_fatal(RdmaTaskKind kind, Status status) noexcept {
  return status == Status::driver ||
         (kind != RdmaTaskKind::receive && status != Status::shutdown && status != Status::connection_reset);
}

constexpr bool is_of_event(RdmaTaskKind kind) noexcept { return kind >= RdmaTaskKind::remote_net_sync_event_get; }

}  // namespace

RdmaTask::RdmaTask(Rdma& rdma, detail::TaskPool& pool, RdmaTaskKind kind) noexcept : Task(rdma, pool), kind_(kind) {}

library::RdmaTask::RdmaTask(Rdma& rdma, detail::TaskPool& pool, std::size_t kind) noexcept
    : pydoca::RdmaTask(rdma, pool, static_cast<RdmaTaskKind>(kind)), fills_(traits().fills != Operand::none) {
  opcode = static_cast<backend::RdmaOpcode>(kind);
}

library::Rdma& library::RdmaTask::rdma() const noexcept { return static_cast<Rdma&>(context()); }

Buf* const* library::RdmaTask::place_of(Operand name) const noexcept {
  if (name == traits().remote) {
    return &there_;
  }
  return name == traits().local() ? &here_ : nullptr;
}
Buf* library::RdmaTask::buf(Operand name) const noexcept {
  Buf* const* const place = place_of(name);
  return place != nullptr ? *place : nullptr;
}
Status library::RdmaTask::set_buf(Operand name, Buf* buf) noexcept {
  const bool takes = place_of(name) != nullptr;
  return detail::set_operand(*this, name == traits().remote ? there_ : here_, buf, takes);
}

Buf* RdmaTask::src_buf() const noexcept { return library::of(*this).buf(Operand::src); }
Buf* RdmaTask::dst_buf() const noexcept { return library::of(*this).buf(Operand::dst); }
Buf* RdmaTask::result_buf() const noexcept { return library::of(*this).buf(Operand::result); }
const std::shared_ptr<SyncEventRemoteNet>& RdmaTask::sync_event() const noexcept { return library::of(*this).event_; }
std::uint64_t RdmaTask::cmp_data() const noexcept { return library::of(*this).compare; }
std::uint64_t RdmaTask::swap_data() const noexcept { return library::of(*this).operand; }
std::uint64_t RdmaTask::add_data() const noexcept { return library::of(*this).operand; }
std::uint32_t RdmaTask::immediate_data() const noexcept { return library::of(*this).immediate; }
std::uint64_t RdmaTask::result_len() const noexcept { return library::of(*this).length; }
std::uint32_t RdmaTask::result_immediate_data() const noexcept { return library::of(*this).immediate; }
RdmaOpcode RdmaTask::result_opcode() const noexcept { return static_cast<RdmaOpcode>(library::of(*this).received_as); }

Status RdmaTask::set_connection(const std::shared_ptr<RdmaConnection>& connection) noexcept {
  const bool takes = kind_ != RdmaTaskKind::receive && connection != nullptr;
  return detail::set_operand(*this, connection_, connection, takes);
}
Status RdmaTask::set_src_buf(Buf* src) noexcept { return library::of(*this).set_buf(Operand::src, src); }
Status RdmaTask::set_dst_buf(Buf* dst) noexcept { return library::of(*this).set_buf(Operand::dst, dst); }
Status RdmaTask::set_result_buf(Buf* result) noexcept { return library::of(*this).set_buf(Operand::result, result); }
Status RdmaTask::set_sync_event(const std::shared_ptr<SyncEventRemoteNet>& event) noexcept {
  return detail::set_operand(*this, library::of(*this).event_, event, traits_of(kind_).has(Operand::event));
}
Status RdmaTask::set_cmp_data(std::uint64_t value) noexcept {
  return detail::set_operand(*this, library::of(*this).compare, value, traits_of(kind_).has(Operand::cmp_data));
}
Status RdmaTask::set_swap_data(std::uint64_t value) noexcept {
  return detail::set_operand(*this, library::of(*this).operand, value, traits_of(kind_).has(Operand::swap_data));
}
Status RdmaTask::set_add_data(std::uint64_t value) noexcept {
  return detail::set_operand(*this, library::of(*this).operand, value, traits_of(kind_).has(Operand::add_data));
}
Status RdmaTask::set_immediate_data(std::uint32_t value) noexcept {
  return detail::set_operand(*this, library::of(*this).immediate, value, traits_of(kind_).has(Operand::immediate_data));
}

/// For the queue: the bytes on this side, and where they belong at the peer.
inline void library::RdmaTask::describe() noexcept {
  local = Operands::segment_of(here_);
  if (!fills_) {
    length = here_ != nullptr ? here_->list_data_len() : 0;
  } else if (kind() == RdmaTaskKind::receive) {
    length = here_ != nullptr ? here_->list_tailroom() : 0;
  } else {
    length = word_size;
  }
  if (is_of_event(kind())) {
    counter = event_ != nullptr ? of(*event_).counter_.get() : nullptr;
  } else if (kind() >= RdmaTaskKind::read) {
    describe_remote();
  }
}

/// A read takes the buf's data, a write follows it, and an atomic may go as far as the buf does.
inline void library::RdmaTask::describe_remote() noexcept {
  if (there_ == nullptr) {
    remote = nullptr;
    remote_addr = remote_len = 0;
  } else {
    remote = Operands::segment_of(there_);
    remote_addr = fills_ ? remote->data : remote->tail();
    remote_len = remote->head + remote->len - remote_addr;
  }
  if (kind() == RdmaTaskKind::read) {
    length = remote_len = there_ != nullptr ? there_->data_len() : 0;
  }
}

Status library::RdmaTask::post(bool flush) noexcept {
  if (here_ != nullptr && (!here_->is_first() || (fills_ && Operands::is_filling(here_)))) [[unlikely]] {
    return here_->is_first() ? Status::in_use : Status::invalid_value;
  }
  describe();
  const Status status = hand_over(flush);
  if (status != Status::success) [[unlikely]] {
    return status;
  }
  Operands::lend(there_);
  if (fills_) {
    Operands::lend_to_fill(here_);
  } else {
    Operands::lend(here_);
  }
  return Status::success;
}

inline Status library::RdmaTask::hand_over(bool flush) noexcept {
  if (kind() == RdmaTaskKind::receive) [[unlikely]] {
    connection_.reset();
    return rdma().rdma_queue().post_receive(*this, flush);
  }
  if (connection_ == nullptr || !connection_->is_connected()) [[unlikely]] {
    return connection_ == nullptr ? Status::invalid_value : Status::not_connected;
  }
  const Status status = of(*connection_).queue_pair_->post(*this, flush);
  if (status == Status::success) [[likely]] {
    ++of(*connection_).outstanding_;
  }
  return status;
}

void library::RdmaTask::finish(Status status) noexcept {
  Operands::take_back(there_);
  if (fills_) {
    const bool placed = kind() == RdmaTaskKind::receive && received_as == backend::ReceivedAs::write_with_imm;
    Operands::take_back_filled(here_, status == Status::success && !placed ? length : 0);
  } else {
    Operands::take_back(here_);
  }
  if (kind() != RdmaTaskKind::receive) {
    of(*connection_).task_done();
  } else if (status == Status::success && queue_pair != nullptr) {
    connection_ = static_cast<RdmaConnection*>(queue_pair->owner)->shared_from_this();
  }
}

void library::RdmaTask::reset() noexcept {
  connection_.reset();
  event_.reset();
  here_ = there_ = nullptr;
}

// ---- Completion ----------------------------------------------------------------------------------------------------

inline bool library::Rdma::complete_one(bool& more) noexcept {
  backend::Operation* const operation = queue()->poll(more);
  if (operation == nullptr) {
    return false;
  }
  ++completed_since_event_;
  if (reports_due_) [[unlikely]] {
    more = true;  // it notified once, and would wait for the next notification
  }
  auto& task = static_cast<RdmaTask&>(static_cast<backend::RdmaOperation&>(*operation));
  const Status status = operation->status;
  const bool fatal = status != Status::success && is_fatal(task.kind(), status);
  if (fatal && task.connection() != nullptr) [[unlikely]] {
    of(*task.connection()).begin_close(status);  // before the context's stop closes it without a reason
  }
  complete_as(task, status, fatal);
  return true;
}

bool library::Rdma::poll_one(bool& more) noexcept {
  stop_dozing();  // as polling disarms the queue
  const bool event_due = completed_since_event_ >= completions_between_events;
  return (event_due && deliver_event(more)) || complete_one(more) || deliver_event(more);
}

bool library::Rdma::progress_one(bool& more) noexcept {
  if (is_live() && poll_one(more)) [[likely]] {
    return true;
  }
  return finish_stopping(more);
}

Task& library::Rdma::task_of(backend::Operation& operation) const noexcept {
  return static_cast<RdmaTask&>(static_cast<backend::RdmaOperation&>(operation));
}

// ---- Allocation ----------------------------------------------------------------------------------------------------

template <Operand name, class Value>
inline void library::RdmaTask::give(const Value& value) noexcept {
  if constexpr (name == Operand::event) {
    event_ = value;
  } else if constexpr (name == Operand::immediate_data) {
    immediate = value;
  } else if constexpr (name == Operand::cmp_data) {
    compare = value;
  } else if constexpr (name == Operand::swap_data || name == Operand::add_data) {
    operand = value;
  } else {
    (name == traits().remote ? there_ : here_) = value;
  }
}

namespace {

/// A task of the kind with its operands, which are given in the order of the table.
template <RdmaTaskKind kind, class... Operands>
Status allocate(Rdma& rdma, RdmaConnection* connection, std::uint64_t user_data, RdmaTask*& task,
                const Operands&... operands) noexcept {
  constexpr const TaskTraits& traits = traits_of(kind);
  static_assert(traits.num_operands() == sizeof...(operands));
  const Status status = library::of(rdma).allocate(kind, connection, user_data, task);
  if (status == Status::success) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      (library::of(*task).give<traits.operands[i]>(operands), ...);
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

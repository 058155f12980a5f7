#include "pydoca/rdma.hpp"

#include "core/task_pool.hpp"
#include "core/violation.hpp"
#include "library/operands.hpp"

#include <utility>

namespace pydoca {

namespace {

using detail::Operands;

constexpr std::uint64_t word_size = sizeof(std::uint64_t);
static_assert(name_of(static_cast<RdmaTaskKind>(backend::RdmaOpcode::counter_add)) ==
                  "remote_net_sync_event_notify_add" &&
              backend::num_rdma_opcodes == num_rdma_task_kinds);  // a kind's number is its opcode's
/// So often does a context whose tasks complete all the time look for connections' news.
constexpr std::uint32_t completions_between_news = 64;

/// What the device did wrong, or was asked to; not what a peer did, nor what follows from another task's failure.
bool is_fatal(RdmaTaskKind kind, Status status) noexcept {
  return status == Status::driver ||
         (kind != RdmaTaskKind::receive && status != Status::shutdown && status != Status::connection_reset);
}

constexpr bool is_of_event(RdmaTaskKind kind) noexcept { return kind >= RdmaTaskKind::remote_net_sync_event_get; }

template <class Value>
Status set(const Task& task, bool has_field, Value& field, const Value& value) noexcept {
  if (task.state() == Task::State::submitted) {
    return Status::in_use;
  }
  if (!has_field) {
    return Status::invalid_value;
  }
  field = value;
  return Status::success;
}

}  // namespace

RdmaTask::RdmaTask(Rdma& rdma, detail::TaskPool& pool, std::size_t kind) noexcept
    : Task(rdma, pool), kind_(static_cast<RdmaTaskKind>(kind)), fills_(traits().fills != Operand::none) {
  opcode = static_cast<backend::RdmaOpcode>(kind);
}

Rdma& RdmaTask::rdma() const noexcept { return static_cast<Rdma&>(context()); }

Status RdmaTask::set_connection(const std::shared_ptr<RdmaConnection>& connection) noexcept {
  return set(*this, kind_ != RdmaTaskKind::receive && connection != nullptr, connection_, connection);
}
Buf* const* RdmaTask::place_of(Operand name) const noexcept {
  if (name == traits().remote) {
    return &there_;
  }
  return name == traits().local() ? &here_ : nullptr;
}
Buf* RdmaTask::buf(Operand name) const noexcept {
  Buf* const* const place = place_of(name);
  return place != nullptr ? *place : nullptr;
}
Status RdmaTask::set_buf(Operand name, Buf* buf) noexcept {
  const bool has = place_of(name) != nullptr;
  return set(*this, has, name == traits().remote ? there_ : here_, buf);
}
Status RdmaTask::set_sync_event(const std::shared_ptr<SyncEventRemoteNet>& event) noexcept {
  return set(*this, traits().has(Operand::event), event_, event);
}
Status RdmaTask::set_cmp_data(std::uint64_t value) noexcept {
  return set(*this, traits().has(Operand::cmp_data), compare, value);
}
Status RdmaTask::set_swap_data(std::uint64_t value) noexcept {
  return set(*this, traits().has(Operand::swap_data), operand, value);
}
Status RdmaTask::set_add_data(std::uint64_t value) noexcept {
  return set(*this, traits().has(Operand::add_data), operand, value);
}
Status RdmaTask::set_immediate_data(std::uint32_t value) noexcept {
  return set(*this, traits().has(Operand::immediate_data), immediate, value);
}

/// For the queue: the bytes on this side, and where they belong at the peer.
inline void RdmaTask::describe() noexcept {
  local = Operands::segment_of(here_);
  if (!fills_) {
    length = here_ != nullptr ? here_->list_data_len() : 0;
  } else if (kind_ == RdmaTaskKind::receive) {
    length = here_ != nullptr ? here_->list_tailroom() : 0;
  } else {
    length = word_size;
  }
  if (is_of_event(kind_)) {
    counter = event_ != nullptr ? event_->counter() : nullptr;
  } else if (kind_ >= RdmaTaskKind::read) {
    describe_remote();
  }
}

/// A read takes the buf's data, a write follows it, and an atomic may go as far as the buf does.
inline void RdmaTask::describe_remote() noexcept {
  if (there_ == nullptr) {
    remote = nullptr;
    remote_addr = remote_len = 0;
  } else {
    remote = Operands::segment_of(there_);
    remote_addr = fills_ ? remote->data : remote->tail();
    remote_len = remote->head + remote->len - remote_addr;
  }
  if (kind_ == RdmaTaskKind::read) {
    length = remote_len = there_ != nullptr ? there_->data_len() : 0;
  }
}

Status RdmaTask::post(bool flush) noexcept {
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

inline Status RdmaTask::hand_over(bool flush) noexcept {
  if (kind_ == RdmaTaskKind::receive) [[unlikely]] {
    connection_.reset();
    return rdma().rdma_queue().post_receive(*this, flush);
  }
  if (connection_ == nullptr || !connection_->is_connected()) [[unlikely]] {
    return connection_ == nullptr ? Status::invalid_value : Status::not_connected;
  }
  const Status status = connection_->queue_pair_->post(*this, flush);
  if (status == Status::success) [[likely]] {
    ++connection_->outstanding_;
  }
  return status;
}

void RdmaTask::finish(Status status) noexcept {
  Operands::take_back(there_);
  if (fills_) {
    const bool placed = kind_ == RdmaTaskKind::receive && received_as == backend::ReceivedAs::write_with_imm;
    Operands::take_back_filled(here_, status == Status::success && !placed ? length : 0);
  } else {
    Operands::take_back(here_);
  }
  if (kind_ != RdmaTaskKind::receive) {
    connection_->task_done();
  } else if (status == Status::success && queue_pair != nullptr) {
    connection_ = static_cast<RdmaConnection*>(queue_pair->owner)->shared_from_this();
  }
}

void RdmaTask::reset() noexcept {
  connection_.reset();
  event_.reset();
  here_ = there_ = nullptr;
}

// ---- Completion ----------------------------------------------------------------------------------------------------

inline bool Rdma::complete_one(bool& more) noexcept {
  backend::Operation* const operation = queue()->poll(more);
  if (operation == nullptr) {
    return false;
  }
  ++completed_since_news_;
  if (news_) [[unlikely]] {
    more = true;  // it notified once, and would wait for the next notification
  }
  auto& task = static_cast<RdmaTask&>(static_cast<backend::RdmaOperation&>(*operation));
  const Status status = operation->status;
  const bool fatal = status != Status::success && is_fatal(task.kind(), status);
  if (fatal && task.connection() != nullptr) [[unlikely]] {
    task.connection()->begin_close(status);  // before the context's stop closes it without a reason
  }
  complete_as(task, status, fatal);
  return true;
}

bool Rdma::poll_one(bool& more) noexcept {
  stop_dozing();  // as polling disarms the queue
  const bool news_due = completed_since_news_ >= completions_between_news;
  return (news_due && deliver_news(more)) || complete_one(more) || deliver_news(more);
}

bool Rdma::progress_one(bool& more) noexcept { return (is_live() && poll_one(more)) || finish_stopping(more); }

Task& Rdma::task_of(backend::Operation& operation) const noexcept {
  return static_cast<RdmaTask&>(static_cast<backend::RdmaOperation&>(operation));
}

// ---- Allocation ----------------------------------------------------------------------------------------------------

Status Rdma::receive(Buf* dst, std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::receive, nullptr, user_data, task);
  if (status == Status::success) {
    task->here_ = dst;
  }
  return status;
}

Status Rdma::send(RdmaConnection& connection, Buf* src, std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::send, &connection, user_data, task);
  if (status == Status::success) {
    task->here_ = src;
  }
  return status;
}

Status Rdma::send_imm(RdmaConnection& connection, Buf* src, std::uint32_t immediate_data, std::uint64_t user_data,
                      RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::send_imm, &connection, user_data, task);
  if (status == Status::success) {
    task->here_ = src;
    task->immediate = immediate_data;
  }
  return status;
}

Status Rdma::read(RdmaConnection& connection, Buf* src, Buf* dst, std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::read, &connection, user_data, task);
  if (status == Status::success) {
    task->there_ = src;
    task->here_ = dst;
  }
  return status;
}

Status Rdma::write(RdmaConnection& connection, Buf* src, Buf* dst, std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::write, &connection, user_data, task);
  if (status == Status::success) {
    task->here_ = src;
    task->there_ = dst;
  }
  return status;
}

Status Rdma::write_imm(RdmaConnection& connection, Buf* src, Buf* dst, std::uint32_t immediate_data,
                       std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::write_imm, &connection, user_data, task);
  if (status == Status::success) {
    task->here_ = src;
    task->there_ = dst;
    task->immediate = immediate_data;
  }
  return status;
}

Status Rdma::atomic_cmp_swp(RdmaConnection& connection, Buf* dst, Buf* result, std::uint64_t cmp_data,
                            std::uint64_t swap_data, std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::atomic_cmp_swp, &connection, user_data, task);
  if (status == Status::success) {
    task->there_ = dst;
    task->here_ = result;
    task->compare = cmp_data;
    task->operand = swap_data;
  }
  return status;
}

Status Rdma::atomic_fetch_add(RdmaConnection& connection, Buf* dst, Buf* result, std::uint64_t add_data,
                              std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::atomic_fetch_add, &connection, user_data, task);
  if (status == Status::success) {
    task->there_ = dst;
    task->here_ = result;
    task->operand = add_data;
  }
  return status;
}

Status Rdma::remote_net_sync_event_get(RdmaConnection& connection, const std::shared_ptr<SyncEventRemoteNet>& event,
                                       Buf* dst, std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::remote_net_sync_event_get, &connection, user_data, task);
  if (status == Status::success) {
    task->event_ = event;
    task->here_ = dst;
  }
  return status;
}

Status Rdma::remote_net_sync_event_notify_set(RdmaConnection& connection,
                                              const std::shared_ptr<SyncEventRemoteNet>& event, Buf* src,
                                              std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::remote_net_sync_event_notify_set, &connection, user_data, task);
  if (status == Status::success) {
    task->event_ = event;
    task->here_ = src;
  }
  return status;
}

Status Rdma::remote_net_sync_event_notify_add(RdmaConnection& connection,
                                              const std::shared_ptr<SyncEventRemoteNet>& event, Buf* result,
                                              std::uint64_t add_data, std::uint64_t user_data,
                                              RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::remote_net_sync_event_notify_add, &connection, user_data, task);
  if (status == Status::success) {
    task->event_ = event;
    task->here_ = result;
    task->operand = add_data;
  }
  return status;
}

}  // namespace pydoca

#include "pydoca/rdma.hpp"

#include "detail/segments.hpp"
#include "detail/slot_pool.hpp"

#include <thread>
#include <utility>

namespace pydoca {

namespace {

constexpr std::uint64_t word_size = sizeof(std::uint64_t);
/// So often does a context whose tasks complete all the time look for connections' news.
constexpr std::uint32_t completions_between_news = 64;

/// What the device did wrong, or was asked to; not what a peer did, nor what follows from another task's failure.
bool is_fatal(RdmaTaskKind kind, Status status) noexcept {
  return status == Status::driver ||
         (kind != RdmaTaskKind::receive && status != Status::shutdown && status != Status::connection_reset);
}

bool sends(RdmaTaskKind kind) noexcept {
  switch (kind) {
    case RdmaTaskKind::send:
    case RdmaTaskKind::send_imm:
    case RdmaTaskKind::write:
    case RdmaTaskKind::write_imm:
    case RdmaTaskKind::remote_net_sync_event_notify_set:
      return true;
    default:
      return false;
  }
}

bool has_immediate(RdmaTaskKind kind) noexcept {
  return kind == RdmaTaskKind::send_imm || kind == RdmaTaskKind::write_imm;
}

bool is_atomic(RdmaTaskKind kind) noexcept {
  return kind == RdmaTaskKind::atomic_cmp_swp || kind == RdmaTaskKind::atomic_fetch_add;
}

bool is_of_event(RdmaTaskKind kind) noexcept { return kind >= RdmaTaskKind::remote_net_sync_event_get; }

bool has_result_buf(RdmaTaskKind kind) noexcept {
  return is_atomic(kind) || kind == RdmaTaskKind::remote_net_sync_event_notify_add;
}

bool is_write(RdmaTaskKind kind) noexcept { return kind == RdmaTaskKind::write || kind == RdmaTaskKind::write_imm; }

bool has_remote_dst_buf(RdmaTaskKind kind) noexcept { return is_write(kind) || is_atomic(kind); }

bool has_src_buf(RdmaTaskKind kind) noexcept { return sends(kind) || kind == RdmaTaskKind::read; }

bool has_dst_buf(RdmaTaskKind kind) noexcept {
  return has_remote_dst_buf(kind) || !(has_result_buf(kind) || sends(kind));
}

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

std::string_view name_of(RdmaTaskKind kind) noexcept {
  constexpr std::string_view names[] = {"receive",
                                        "send",
                                        "send_imm",
                                        "read",
                                        "write",
                                        "write_imm",
                                        "atomic_cmp_swp",
                                        "atomic_fetch_add",
                                        "remote_net_sync_event_get",
                                        "remote_net_sync_event_notify_set",
                                        "remote_net_sync_event_notify_add"};
  return names[static_cast<std::size_t>(kind)];
}

RdmaTask::RdmaTask(Rdma& rdma, RdmaTaskKind& kind, Callback& on_success, Callback& on_error) noexcept
    : Task(rdma), kind_(kind), fills_(!sends(kind)), on_success_(on_success), on_error_(on_error) {
  opcode = static_cast<backend::RdmaOpcode>(kind);
}

Rdma& RdmaTask::rdma() const noexcept { return static_cast<Rdma&>(context()); }

Status RdmaTask::set_connection(const std::shared_ptr<RdmaConnection>& connection) noexcept {
  return set(*this, kind_ != RdmaTaskKind::receive && connection != nullptr, connection_, connection);
}
Status RdmaTask::set_src_buf(Buf* src) noexcept {
  return set(*this, has_src_buf(kind_), kind_ == RdmaTaskKind::read ? there_ : here_, src);
}
Status RdmaTask::set_dst_buf(Buf* dst) noexcept {
  return set(*this, has_dst_buf(kind_), has_remote_dst_buf(kind_) ? there_ : here_, dst);
}
Status RdmaTask::set_result_buf(Buf* result) noexcept { return set(*this, has_result_buf(kind_), here_, result); }
Buf* RdmaTask::src_buf() const noexcept {
  return !has_src_buf(kind_) ? nullptr : kind_ == RdmaTaskKind::read ? there_ : here_;
}
Buf* RdmaTask::dst_buf() const noexcept {
  return !has_dst_buf(kind_) ? nullptr : has_remote_dst_buf(kind_) ? there_ : here_;
}
Buf* RdmaTask::result_buf() const noexcept { return has_result_buf(kind_) ? here_ : nullptr; }
Status RdmaTask::set_sync_event(const std::shared_ptr<SyncEventRemoteNet>& event) noexcept {
  return set(*this, is_of_event(kind_), event_, event);
}
Status RdmaTask::set_cmp_data(std::uint64_t value) noexcept {
  return set(*this, kind_ == RdmaTaskKind::atomic_cmp_swp, compare, value);
}
Status RdmaTask::set_swap_data(std::uint64_t value) noexcept {
  return set(*this, kind_ == RdmaTaskKind::atomic_cmp_swp, operand, value);
}
Status RdmaTask::set_add_data(std::uint64_t value) noexcept {
  const bool adds = kind_ == RdmaTaskKind::atomic_fetch_add || kind_ == RdmaTaskKind::remote_net_sync_event_notify_add;
  return set(*this, adds, operand, value);
}
Status RdmaTask::set_immediate_data(std::uint32_t value) noexcept {
  return set(*this, has_immediate(kind_), immediate, value);
}

/// For the queue: the bytes on this side, and where they belong at the peer.
inline void RdmaTask::describe() noexcept {
  local = here_ != nullptr ? &here_->segment() : nullptr;
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
    remote = &there_->segment();
    remote_addr = fills_ ? remote->data : remote->tail();
    remote_len = remote->head + remote->len - remote_addr;
  }
  if (kind_ == RdmaTaskKind::read) {
    length = remote_len = there_ != nullptr ? there_->data_len() : 0;
  }
}

Status RdmaTask::validate() const noexcept {
  const bool receives = kind_ == RdmaTaskKind::receive;
  if (!receives && (connection_ == nullptr || connection_->rdma() != &rdma())) {
    return Status::invalid_value;
  }
  if (here_ == nullptr) {
    const bool may_lack = kind_ <= RdmaTaskKind::write_imm;
    return may_lack ? validate_remote() : Status::invalid_value;
  }
  const std::uint32_t limit = receives ? rdma().receive_dst_buf_list_len() : rdma().max_send_buf_list_len();
  const bool fits = here_->is_first() && here_->num_elements() <= limit &&
                    detail::reaches(&here_->segment(), rdma().device()->ordinal());
  const bool full = kind_ > RdmaTaskKind::write_imm && fills_ && here_->tailroom() < word_size;
  return fits && !full ? validate_remote() : Status::invalid_value;
}

Status RdmaTask::validate_remote() const noexcept {
  if (is_of_event(kind_)) {
    const bool sized = fills_ || here_->list_data_len() == word_size;
    return sized && event_ != nullptr && event_->counter() != nullptr ? Status::success : Status::invalid_value;
  }
  std::uint64_t size = !fills_ && here_ != nullptr ? here_->list_data_len() : 0;
  if (kind_ == RdmaTaskKind::read && there_ != nullptr) {
    size = there_->data_len();
  }
  bool valid = size <= Rdma::max_message_size(rdma().device()->info());
  if (kind_ == RdmaTaskKind::read) {
    valid = valid && size <= (here_ != nullptr ? here_->list_tailroom() : 0);
  } else if (is_write(kind_)) {
    valid = valid && size <= (there_ != nullptr ? there_->tailroom() : 0);
  } else if (is_atomic(kind_)) {
    valid = there_ != nullptr && there_->head() + there_->len() - there_->data() >= word_size &&
            there_->data() % word_size == 0;
  }
  const bool reachable = there_ == nullptr || detail::reaches(&there_->segment(), rdma().device()->ordinal());
  return valid && reachable ? Status::success : Status::invalid_value;
}

Status RdmaTask::post(bool flush) noexcept {
  if (here_ != nullptr && (!here_->is_first() || (fills_ && here_->is_filling()))) [[unlikely]] {
    return here_->is_first() ? Status::in_use : Status::invalid_value;
  }
  describe();
  const Status status = hand_over(flush);
  if (status != Status::success) [[unlikely]] {
    return status;
  }
  if (there_ != nullptr) {
    there_->hold();
  }
  if (here_ != nullptr) {
    here_->hold();
    if (fills_) {
      here_->set_filling(true);
    }
  }
  return Status::success;
}

inline Status RdmaTask::hand_over(bool flush) noexcept {
  if (kind_ == RdmaTaskKind::receive) [[unlikely]] {
    connection_.reset();
    return rdma().queue_->post_receive(*this, flush);
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

void RdmaTask::take_filled(Status status) noexcept {
  here_->set_filling(false);
  const bool placed = kind_ == RdmaTaskKind::receive && received_as == backend::ReceivedAs::write_with_imm;
  if (status == Status::success && !placed) {
    here_->append(length);
  }
}

void RdmaTask::recycle() noexcept {
  connection_.reset();
  event_.reset();
  here_ = there_ = nullptr;
  rdma().conf(kind_).tasks->put(*this);
}

// ---- Completion ----------------------------------------------------------------------------------------------------

inline bool Rdma::complete_one(bool& more) noexcept {
  backend::Operation* const operation = queue_->poll(more);
  if (operation == nullptr) {
    return false;
  }
  ++completed_since_news_;
  more = more || news_;  // which rang once, and would wait for the next ring
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
  if (dozes_) [[unlikely]] {
    start_looking();  // that ended when the engine went to sleep, and polling disarms the queue
  }
  const bool news_due = completed_since_news_ >= completions_between_news;
  return (news_due && deliver_news(more)) || complete_one(more) || deliver_news(more);
}

bool Rdma::progress_one(bool& more) noexcept { return (is_live() && poll_one(more)) || finish_stopping(more); }

void Rdma::reclaim_tasks() noexcept {
  for (const auto& connection : connections_) {
    connection->begin_close(Status::success);
  }
  queue_->abort();
  for (std::size_t left = num_inflight_tasks(); left > 0;) {
    bool more = false;
    if (backend::Operation* const operation = queue_->poll(more)) {
      static_cast<RdmaTask&>(static_cast<backend::RdmaOperation&>(*operation)).finish(operation->status);
      --left;
    } else if (!queue_->assist()) {
      std::this_thread::yield();
    }
  }
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

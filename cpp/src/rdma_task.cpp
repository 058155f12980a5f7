#include "pydoca/rdma.hpp"

#include "detail/slot_pool.hpp"

#include <utility>

namespace pydoca {

namespace {

constexpr std::uint64_t word_size = sizeof(std::uint64_t);

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

bool has_src_buf(RdmaTaskKind kind) noexcept { return sends(kind) || kind == RdmaTaskKind::read; }

bool has_dst_buf(RdmaTaskKind kind) noexcept {
  return !has_result_buf(kind) ? !sends(kind) || kind == RdmaTaskKind::write || kind == RdmaTaskKind::write_imm
                               : is_atomic(kind);
}

bool is_write(RdmaTaskKind kind) noexcept { return kind == RdmaTaskKind::write || kind == RdmaTaskKind::write_imm; }

/// Whether the device has every element's memory.
bool reaches(const backend::Segment* segment, std::size_t ordinal) noexcept {
  for (; segment != nullptr; segment = segment->next) {
    if (segment->regions[ordinal] == nullptr) {
      return false;
    }
  }
  return true;
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

RdmaTask::RdmaTask(Rdma& rdma, RdmaTaskKind& kind) noexcept
    : Task(rdma),
      kind_(kind),
      fills_(!sends(kind)),
      local_(sends(kind)            ? &RdmaTask::src_
             : has_result_buf(kind) ? &RdmaTask::result_
                                    : &RdmaTask::dst_) {
  opcode = static_cast<backend::RdmaOpcode>(kind);
}

Rdma& RdmaTask::rdma() const noexcept { return static_cast<Rdma&>(context()); }

Status RdmaTask::set_connection(const std::shared_ptr<RdmaConnection>& connection) noexcept {
  return set(*this, kind_ != RdmaTaskKind::receive && connection != nullptr, connection_, connection);
}
Status RdmaTask::set_src_buf(Buf* src) noexcept { return set(*this, has_src_buf(kind_), src_, src); }
Status RdmaTask::set_dst_buf(Buf* dst) noexcept { return set(*this, has_dst_buf(kind_), dst_, dst); }
Status RdmaTask::set_result_buf(Buf* result) noexcept { return set(*this, has_result_buf(kind_), result_, result); }
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

template <class Visit>
void RdmaTask::for_each_buf(Visit visit) const noexcept {
  const auto visit_one = [&](Buf* buf) {
    if (buf != nullptr) {
      visit(*buf);
    }
  };
  visit_one(src_);
  visit_one(dst_);
  visit_one(result_);
}

Buf* RdmaTask::remote_buf() const noexcept {
  if (kind_ == RdmaTaskKind::read) {
    return src_;
  }
  return is_write(kind_) || is_atomic(kind_) ? dst_ : nullptr;
}

/// For the queue: the bytes on this side, and where they belong at the peer.
void RdmaTask::describe(Buf* here) noexcept {
  local = here != nullptr ? &here->segment() : nullptr;
  switch (kind_) {
    case RdmaTaskKind::receive:
      length = here != nullptr ? here->list_tailroom() : 0;
      return;
    case RdmaTaskKind::send:
    case RdmaTaskKind::send_imm:
      length = here != nullptr ? here->list_data_len() : 0;
      return;
    case RdmaTaskKind::write:
    case RdmaTaskKind::write_imm:
      length = here != nullptr ? here->list_data_len() : 0;
      describe_remote(dst_);
      return;
    case RdmaTaskKind::read:
      describe_remote(src_);
      length = remote_len;
      return;
    case RdmaTaskKind::atomic_cmp_swp:
    case RdmaTaskKind::atomic_fetch_add:
      length = word_size;
      describe_remote(dst_);
      return;
    case RdmaTaskKind::remote_net_sync_event_notify_set:
      length = here != nullptr ? here->list_data_len() : 0;
      break;
    default:
      length = word_size;
  }
  counter = event_ != nullptr ? event_->counter() : nullptr;
}

/// A read takes the buf's data, a write follows it, and an atomic may go as far as the buf does.
void RdmaTask::describe_remote(Buf* there) noexcept {
  if (there == nullptr) {
    remote = nullptr;
    remote_addr = remote_len = 0;
    return;
  }
  remote = &there->segment();
  remote_addr = is_write(kind_) ? remote->tail() : remote->data;
  remote_len = kind_ == RdmaTaskKind::read ? remote->data_len : remote->head + remote->len - remote_addr;
}

Status RdmaTask::validate() const noexcept {
  const Buf* const here = local_buf();
  const bool receives = kind_ == RdmaTaskKind::receive;
  if (!receives && (connection_ == nullptr || connection_->rdma() != &rdma())) {
    return Status::invalid_value;
  }
  if (here == nullptr) {
    const bool may_lack = kind_ <= RdmaTaskKind::write_imm;
    return may_lack ? validate_remote() : Status::invalid_value;
  }
  const std::uint32_t limit = receives ? rdma().receive_dst_buf_list_len() : rdma().max_send_buf_list_len();
  const bool fits =
      here->is_first() && here->num_elements() <= limit && reaches(&local_buf()->segment(), rdma().device()->ordinal());
  const bool full = kind_ > RdmaTaskKind::write_imm && fills() && here->tailroom() < word_size;
  return fits && !full ? validate_remote() : Status::invalid_value;
}

Status RdmaTask::validate_remote() const noexcept {
  const Buf* const here = local_buf();
  if (is_of_event(kind_)) {
    const bool sized = !sends(kind_) || here->list_data_len() == word_size;
    return sized && event_ != nullptr && event_->counter() != nullptr ? Status::success : Status::invalid_value;
  }
  const Buf* const there = remote_buf();
  std::uint64_t size = sends(kind_) && here != nullptr ? here->list_data_len() : 0;
  if (kind_ == RdmaTaskKind::read && there != nullptr) {
    size = there->data_len();
  }
  bool valid = size <= Rdma::max_message_size(rdma().device()->info());
  if (kind_ == RdmaTaskKind::read) {
    valid = valid && size <= (here != nullptr ? here->list_tailroom() : 0);
  } else if (is_write(kind_)) {
    valid = valid && size <= (there != nullptr ? there->tailroom() : 0);
  } else if (is_atomic(kind_)) {
    valid =
        there != nullptr && there->head() + there->len() - there->data() >= word_size && there->data() % word_size == 0;
  }
  const bool reachable = there == nullptr || reaches(&remote_buf()->segment(), rdma().device()->ordinal());
  return valid && reachable ? Status::success : Status::invalid_value;
}

Status RdmaTask::post(bool flush) noexcept {
  Buf* const here = local_buf();
  if (here != nullptr && (!here->is_first() || (fills_ && here->is_filling()))) [[unlikely]] {
    return here->is_first() ? Status::in_use : Status::invalid_value;
  }
  describe(here);
  const Status status = hand_over(flush);
  if (status != Status::success) [[unlikely]] {
    return status;
  }
  for_each_buf([](Buf& buf) { buf.hold(); });
  if (here != nullptr && fills_) {
    here->set_filling(true);
  }
  return Status::success;
}

inline Status RdmaTask::hand_over(bool flush) noexcept {
  if (kind_ == RdmaTaskKind::receive) {
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

void RdmaTask::finish(Status status) noexcept {
  for_each_buf([](Buf& buf) { buf.unhold(); });
  if (Buf* const here = local_buf(); fills_ && here != nullptr) {
    here->set_filling(false);
    const bool placed = kind_ == RdmaTaskKind::receive && received_as == backend::ReceivedAs::write_with_imm;
    if (status == Status::success && !placed) {
      here->append(length);
    }
  }
  if (kind_ != RdmaTaskKind::receive) {
    connection_->task_done();
  } else if (status == Status::success && queue_pair != nullptr) {
    connection_ = static_cast<RdmaConnection*>(queue_pair->owner)->shared_from_this();
  }
}

Task::Callback RdmaTask::callback(Status status) const noexcept {
  const Rdma::Conf& conf = rdma().conf(kind_);
  return status == Status::success ? conf.on_success : conf.on_error;
}

void RdmaTask::recycle() noexcept {
  connection_.reset();
  event_.reset();
  src_ = dst_ = result_ = nullptr;
  rdma().conf(kind_).tasks->put(*this);
}

Status Rdma::receive(Buf* dst, std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::receive, nullptr, user_data, task);
  if (status == Status::success) {
    task->dst_ = dst;
  }
  return status;
}

Status Rdma::send(RdmaConnection& connection, Buf* src, std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::send, &connection, user_data, task);
  if (status == Status::success) {
    task->src_ = src;
  }
  return status;
}

Status Rdma::send_imm(RdmaConnection& connection, Buf* src, std::uint32_t immediate_data, std::uint64_t user_data,
                      RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::send_imm, &connection, user_data, task);
  if (status == Status::success) {
    task->src_ = src;
    task->immediate = immediate_data;
  }
  return status;
}

Status Rdma::read(RdmaConnection& connection, Buf* src, Buf* dst, std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::read, &connection, user_data, task);
  if (status == Status::success) {
    task->src_ = src;
    task->dst_ = dst;
  }
  return status;
}

Status Rdma::write(RdmaConnection& connection, Buf* src, Buf* dst, std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::write, &connection, user_data, task);
  if (status == Status::success) {
    task->src_ = src;
    task->dst_ = dst;
  }
  return status;
}

Status Rdma::write_imm(RdmaConnection& connection, Buf* src, Buf* dst, std::uint32_t immediate_data,
                       std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::write_imm, &connection, user_data, task);
  if (status == Status::success) {
    task->src_ = src;
    task->dst_ = dst;
    task->immediate = immediate_data;
  }
  return status;
}

Status Rdma::atomic_cmp_swp(RdmaConnection& connection, Buf* dst, Buf* result, std::uint64_t cmp_data,
                            std::uint64_t swap_data, std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::atomic_cmp_swp, &connection, user_data, task);
  if (status == Status::success) {
    task->dst_ = dst;
    task->result_ = result;
    task->compare = cmp_data;
    task->operand = swap_data;
  }
  return status;
}

Status Rdma::atomic_fetch_add(RdmaConnection& connection, Buf* dst, Buf* result, std::uint64_t add_data,
                              std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::atomic_fetch_add, &connection, user_data, task);
  if (status == Status::success) {
    task->dst_ = dst;
    task->result_ = result;
    task->operand = add_data;
  }
  return status;
}

Status Rdma::remote_net_sync_event_get(RdmaConnection& connection, const std::shared_ptr<SyncEventRemoteNet>& event,
                                       Buf* dst, std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::remote_net_sync_event_get, &connection, user_data, task);
  if (status == Status::success) {
    task->event_ = event;
    task->dst_ = dst;
  }
  return status;
}

Status Rdma::remote_net_sync_event_notify_set(RdmaConnection& connection,
                                              const std::shared_ptr<SyncEventRemoteNet>& event, Buf* src,
                                              std::uint64_t user_data, RdmaTask*& task) noexcept {
  const Status status = allocate(RdmaTaskKind::remote_net_sync_event_notify_set, &connection, user_data, task);
  if (status == Status::success) {
    task->event_ = event;
    task->src_ = src;
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
    task->result_ = result;
    task->operand = add_data;
  }
  return status;
}

}  // namespace pydoca

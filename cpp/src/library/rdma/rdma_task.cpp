#include "library/rdma/rdma_task.hpp"

#include "core/violation.hpp"
#include "detail/trace/recorder.hpp"
#include "library/set_operand.hpp"
#include "library/sync_event/sync_event.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace pydoca {

namespace {

using detail::Operands;

constexpr std::uint64_t word_size = sizeof(std::uint64_t);
static_assert(name_of(static_cast<RdmaTaskKind>(backend::RdmaOpcode::counter_add)) ==
                  "remote_net_sync_event_notify_add" &&
              backend::num_rdma_opcodes == num_rdma_task_kinds);  // a kind's number is its opcode's

template <class Value>
using OfEachKind = std::array<Value, num_rdma_task_kinds>;

using BufPlace = library::RdmaTask::BufPlace;

/// Where tasks of each kind keep the buf of that name.
constexpr OfEachKind<BufPlace> places_of(std::string_view name) noexcept {
  OfEachKind<BufPlace> places{};
  for (std::size_t kind = 0; kind < places.size(); ++kind) {
    const TaskTraits& traits = rdma_tasks[kind];
    if (traits.has(name)) {
      const bool is_remote = traits.operands[traits.find(name)].type == OperandType::remote;
      places[kind] = is_remote ? BufPlace::there : BufPlace::here;
    }
  }
  return places;
}
constexpr OfEachKind<BufPlace> src_places = places_of("src");
constexpr OfEachKind<BufPlace> dst_places = places_of("dst");
constexpr OfEachKind<BufPlace> result_places = places_of("result");

constexpr OfEachKind<bool> kinds_with(std::string_view name) noexcept {
  OfEachKind<bool> kinds{};
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    kinds[kind] = rdma_tasks[kind].has(name);
  }
  return kinds;
}
constexpr OfEachKind<bool> takes_event = kinds_with("event");
constexpr OfEachKind<bool> takes_compare = kinds_with("cmp_data");
constexpr OfEachKind<bool> takes_swap = kinds_with("swap_data");
constexpr OfEachKind<bool> takes_add = kinds_with("add_data");
constexpr OfEachKind<bool> takes_immediate = kinds_with("immediate_data");

constexpr auto at(const auto& of_each_kind, RdmaTaskKind kind) noexcept {
  return of_each_kind[static_cast<std::size_t>(kind)];
}

}  // namespace

RdmaTask::RdmaTask(Rdma& rdma, detail::TaskPool& pool, RdmaTaskKind kind) noexcept : Task(rdma, pool), kind_(kind) {}

library::RdmaTask::RdmaTask(pydoca::Rdma& rdma, detail::TaskPool& pool, std::size_t kind) noexcept
    : pydoca::RdmaTask(rdma, pool, static_cast<RdmaTaskKind>(kind)), fills_(traits().has(OperandType::target)) {
  opcode = static_cast<backend::RdmaOpcode>(kind);
}

Buf* library::RdmaTask::buf(BufPlace place) const noexcept {
  return place == BufPlace::here ? here_ : place == BufPlace::there ? there_ : nullptr;
}
Status library::RdmaTask::set_buf(BufPlace place, Buf* buf) noexcept {
  return detail::set_operand(*this, place == BufPlace::there ? there_ : here_, buf, place != BufPlace::none);
}

Buf* RdmaTask::src_buf() const noexcept { return library::of(*this).buf(at(src_places, kind_)); }
Buf* RdmaTask::dst_buf() const noexcept { return library::of(*this).buf(at(dst_places, kind_)); }
Buf* RdmaTask::result_buf() const noexcept { return library::of(*this).buf(at(result_places, kind_)); }
const std::shared_ptr<SyncEventRemoteNet>& RdmaTask::sync_event() const noexcept { return library::of(*this).event_; }
std::uint64_t RdmaTask::cmp_data() const noexcept { return library::of(*this).compare; }
std::uint64_t RdmaTask::swap_data() const noexcept { return library::of(*this).operand; }
std::uint64_t RdmaTask::add_data() const noexcept { return library::of(*this).operand; }
std::uint32_t RdmaTask::immediate_data() const noexcept { return library::of(*this).immediate; }
std::uint64_t RdmaTask::result_len() const noexcept { return library::of(*this).length; }
std::uint32_t RdmaTask::result_immediate_data() const noexcept { return library::of(*this).immediate; }
RdmaOpcode RdmaTask::result_opcode() const noexcept { return static_cast<RdmaOpcode>(library::of(*this).received_as); }

Status RdmaTask::set_connection(const std::shared_ptr<RdmaConnection>& connection) noexcept {
  // A connection that has ended has no context any more.
  const bool takes = kind_ != RdmaTaskKind::receive && connection != nullptr &&
                     (connection->rdma() == nullptr || connection->rdma() == &context());
  return detail::set_operand(*this, connection_, connection, takes);
}
Status RdmaTask::set_src_buf(Buf* src) noexcept { return library::of(*this).set_buf(at(src_places, kind_), src); }
Status RdmaTask::set_dst_buf(Buf* dst) noexcept { return library::of(*this).set_buf(at(dst_places, kind_), dst); }
Status RdmaTask::set_result_buf(Buf* result) noexcept {
  return library::of(*this).set_buf(at(result_places, kind_), result);
}
Status RdmaTask::set_sync_event(const std::shared_ptr<SyncEventRemoteNet>& event) noexcept {
  return detail::set_operand(*this, library::of(*this).event_, event, at(takes_event, kind_));
}
Status RdmaTask::set_cmp_data(std::uint64_t value) noexcept {
  return detail::set_operand(*this, library::of(*this).compare, value, at(takes_compare, kind_));
}
Status RdmaTask::set_swap_data(std::uint64_t value) noexcept {
  return detail::set_operand(*this, library::of(*this).operand, value, at(takes_swap, kind_));
}
Status RdmaTask::set_add_data(std::uint64_t value) noexcept {
  return detail::set_operand(*this, library::of(*this).operand, value, at(takes_add, kind_));
}
Status RdmaTask::set_immediate_data(std::uint32_t value) noexcept {
  return detail::set_operand(*this, library::of(*this).immediate, value, at(takes_immediate, kind_));
}

void library::RdmaTask::finish_filled(Status status) noexcept {
  const bool placed = kind() == RdmaTaskKind::receive && received_as == backend::ReceivedAs::write_with_imm;
  Operands::take_back_filled(here_, status == Status::success && !placed ? length : 0);
  if (kind() != RdmaTaskKind::receive) {
    of(*connection_).task_done();
  } else if (status == Status::success && queue_pair != nullptr) {
    connection_ = static_cast<RdmaConnection*>(queue_pair->owner)->shared_from_this();
  }
}

/// Tells the queue the bytes on this side, and where they belong at the peer.
inline void library::RdmaTask::describe() noexcept {
  local = Operands::segment_of(here_);
  remote = Operands::segment_of(there_);
  if (fills_) {
    describe_filled();
  } else {
    describe_sent();
  }
  if (there_ == nullptr) {
    remote_addr = remote_len = 0;
    counter = is_of_event(kind()) && event_ != nullptr ? of(*event_).counter_.get() : nullptr;
  }
}

/// A write follows the data of the peer's buf.
inline void library::RdmaTask::describe_sent() noexcept {
  length = here_ != nullptr ? here_->list_data_len() : 0;
  if (there_ != nullptr) {
    remote_addr = remote->tail();
    remote_len = remote->tailroom();
  }
}

/// A read takes the data of the peer's buf, and an atomic may go as far as the buf does.
inline void library::RdmaTask::describe_filled() noexcept {
  length = word_size;
  if (there_ != nullptr) {
    remote_addr = remote->data;
    remote_len = remote->head + remote->len - remote->data;
  }
  if (kind() == RdmaTaskKind::receive) {
    length = here_ != nullptr ? here_->list_tailroom() : 0;
  } else if (kind() == RdmaTaskKind::read) {
    length = remote_len = there_ != nullptr ? there_->data_len() : 0;
  }
}

Status library::RdmaTask::post(bool flush) noexcept {
  if (here_ != nullptr && (!here_->leads_list() || (fills_ && Operands::is_filling(here_)))) [[unlikely]] {
    return here_->leads_list() ? Status::in_use : Status::invalid_value;
  }
  if (there_ != nullptr && there_->is_free()) [[unlikely]] {
    return Status::invalid_value;
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

void library::RdmaTask::number_message() noexcept {
  const bool is_message =
      kind() == RdmaTaskKind::send || kind() == RdmaTaskKind::send_imm || kind() == RdmaTaskKind::write_imm;
  const bool is_ready = is_message && connection_ != nullptr && connection_->is_connected();
  message = is_ready && of(*connection_).queue_pair_->trace_id() != 0 ? of(*connection_).number_message() : 0;
}

void library::RdmaTask::message_submitted(Status status, std::uint64_t begin) noexcept {
  if (status != Status::success) {
    message = 0;
  } else if (message != 0) {
    record_message(TraceEventKind::sent, begin, of(*connection_).queue_pair_->trace_id());
  }
}

void library::RdmaTask::message_completed(Status status) noexcept {
  const std::uint32_t number = message;
  if (kind() == RdmaTaskKind::receive && number != 0 && status == Status::success && queue_pair != nullptr) {
    record_message(TraceEventKind::received, detail::trace::ticks(), queue_pair->trace_id());
  }
  message = 0;
}

void library::RdmaTask::record_message(TraceEventKind kind, std::uint64_t time,
                                       std::uint64_t connection) const noexcept {
  detail::trace::record(time, detail::trace::pack(kind, 0, 0, context().trace_name()), connection,
                        detail::trace::pack_pair(message, length));
}

/// The rest it tells until it is taken again: a program in C asks in the callback in which it has freed the task.
void library::RdmaTask::forget() noexcept { event_.reset(); }

}  // namespace pydoca

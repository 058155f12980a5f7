#include "core/violation.hpp"
#include "detail/concat.hpp"
#include "library/memory_access.hpp"
#include "library/operands.hpp"
#include "library/rdma/rdma_task.hpp"

/// What is wrong with an RDMA task's operands, and why a task has failed.
namespace pydoca {

namespace {

using detail::Limit;
using detail::Operands;
using detail::Violation;

constexpr std::uint64_t answer_size = sizeof(std::uint64_t);

const char* text_of(Operand operand) noexcept { return name_of(operand).data(); }

}  // namespace

Limit library::RdmaTask::check(Violation* why) const noexcept {
  const pydoca::Rdma* const its = connection_ != nullptr ? connection_->rdma() : nullptr;
  // One that is closed is not refused here: submission answers not_connected.
  if (kind() != RdmaTaskKind::receive && (connection_ == nullptr || (its != nullptr && its != &rdma()))) {
    return broken(why, {.limit = Limit::other_connection});
  }
  if (const Limit limit = check_local(why); limit != Limit::none) {
    return limit;
  }
  if (const Limit limit = check_event(why); limit != Limit::none) {
    return limit;
  }
  if (const Limit limit = check_size(why); limit != Limit::none) {
    return limit;
  }
  if (const Limit limit = check_word(why); limit != Limit::none) {
    return limit;
  }
  return there_ == nullptr ? Limit::none
                           : Operands::check_device(why, text_of(traits().remote), *there_, *rdma().device());
}

Limit library::RdmaTask::check_local(Violation* why) const noexcept {
  const char* const name = text_of(traits().local());
  if (here_ == nullptr) {
    return traits().bufs_may_lack ? Limit::none : broken(why, {.limit = Limit::missing, .operand = name});
  }
  const bool receives = kind() == RdmaTaskKind::receive;
  const std::uint32_t limit = receives ? rdma().receive_dst_buf_list_len() : rdma().max_send_buf_list_len();
  const char* const setting = receives ? "receive_dst_buf_list_len" : "max_send_buf_list_len";
  if (const Limit found = Operands::check(why, name, *here_, limit, setting, *rdma().device()); found != Limit::none) {
    return found;
  }
  return traits().answers_word && here_->tailroom() < answer_size
             ? broken(why, {.limit = Limit::answer_room, .operand = name, .value = here_->tailroom()})
             : Limit::none;
}

Limit library::RdmaTask::check_event(Violation* why) const noexcept {
  if (!traits().has(Operand::event)) {
    return Limit::none;
  }
  if (!fills_ && here_->list_data_len() != answer_size) {
    return broken(why, {.limit = Limit::event_value, .operand = "src", .value = here_->list_data_len()});
  }
  if (event_ == nullptr) {
    return broken(why, {.limit = Limit::missing, .operand = "event"});
  }
  return event_->is_closed() ? broken(why, {.limit = Limit::closed_event}) : Limit::none;
}

/// Bytes that this side knows it will move; 0 for atomics and receives.
std::uint64_t library::RdmaTask::size_to_move() const noexcept {
  if (kind() == RdmaTaskKind::read) {
    return there_ != nullptr ? there_->data_len() : 0;
  }
  return !fills_ && here_ != nullptr ? here_->list_data_len() : 0;
}

Limit library::RdmaTask::check_size(Violation* why) const noexcept {
  const std::uint64_t size = size_to_move();
  const std::uint32_t most = pydoca::Rdma::max_message_size(rdma().device()->info());
  if (size > most) {
    return broken(
        why, {.limit = Limit::size, .operand = "src", .setting = "max_message_size", .value = size, .allowed = most});
  }
  if (traits().remote == Operand::none || traits().answers_word) {
    return Limit::none;
  }
  const Buf* const dst = dst_buf();
  if (dst == nullptr) {
    return size != 0 ? broken(why, {.limit = Limit::missing, .operand = "dst"}) : Limit::none;
  }
  const std::uint64_t room = fills_ ? dst->list_tailroom() : dst->tailroom();  // a peer's buf is one element
  return size <= room ? Limit::none
                      : broken(why, {.limit = Limit::room, .operand = "dst", .value = size, .allowed = room});
}

/// The 8 bytes that an atomic changes at the peer.
Limit library::RdmaTask::check_word(Violation* why) const noexcept {
  if (traits().remote == Operand::none || !traits().answers_word) {
    return Limit::none;
  }
  if (there_ == nullptr) {
    return broken(why, {.limit = Limit::missing, .operand = "dst"});
  }
  const std::uint64_t left = there_->head() + there_->len() - there_->data();
  if (left < answer_size) {
    return broken(why, {.limit = Limit::word_length, .operand = "dst", .value = left});
  }
  return there_->data() % answer_size != 0
             ? broken(why, {.limit = Limit::word_address, .operand = "dst", .value = there_->data()})
             : Limit::none;
}

std::string library::RdmaTask::explain(Status status) const {
  if (slot != 0 && status == backend::Operation::status) {
    return detail::explain_fault(slot);
  }
  switch (status) {
    case Status::not_connected:
      return "the connection is not established, or has ended; make another";
    case Status::connection_reset:
      return "the peer has left, is gone, or broke the connection";
    case Status::io_failed:
      return explain_failed_access();
    case Status::time_out:
      return traits().remote_access == Access::rdma_atomic
                 ? "the process that owns the memory did not answer; pydoca.alloc() there makes memory that needs no "
                   "answer"
                 : "the peer had no receive posted for as long as rnr_retry_count says; the connection has ended";
    case Status::shutdown:
      return "it was flushed, as its connection ended or its context stopped";
    default:
      return Task::explain(status);
  }
}

/// Memory at one of the ends could not be used: what this side knows of it, or else what there is to look at.
std::string library::RdmaTask::explain_failed_access() const {
  const Device& device = *rdma().device();
  if (Violation violation; check(&violation) != Limit::none) {
    return detail::explain(violation, device.info());
  }
  const detail::Use use = fills_ ? detail::Use::writes : detail::Use::reads;
  std::string reason = detail::explain_local_access(text_of(traits().local()), here_, device, use);
  if (reason.empty() && there_ != nullptr) {
    reason = there_->mmap()->is_from_export()
                 ? detail::explain_access(text_of(traits().remote), there_, device, detail::Use::writes,
                                          traits().remote_access)
                 : detail::concat(text_of(traits().remote),
                                  " is memory of this process; give memory that was imported from the peer");
  }
  if (!reason.empty()) {
    return reason;
  }
  switch (kind()) {
    case RdmaTaskKind::receive:
      return "the message is longer than dst, or the operation of the peer that it came with has failed";
    case RdmaTaskKind::send:
    case RdmaTaskKind::send_imm:
      return "the message is longer than the receive that takes it; the connection has ended";
    default:
      break;
  }
  const std::string_view permission = detail::name_of(traits().remote_access);
  return traits().has(Operand::event)
             ? detail::concat("the event was stopped, is not of this peer, or the permissions of the peer's Rdma lack ",
                              permission, "; the connection has ended")
             : detail::concat("the peer's memory is withdrawn, too short, of another peer, or does not permit ",
                              permission,
                              " (its map's access, and the permissions of its Rdma); the connection has ended");
}

}  // namespace pydoca

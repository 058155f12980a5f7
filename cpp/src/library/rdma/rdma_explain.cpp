#include "core/violation.hpp"
#include "detail/concat.hpp"
#include "library/memory_access.hpp"
#include "library/operands.hpp"
#include "library/rdma/rdma_task.hpp"

/// What is wrong with an RDMA task's operands, and why a task has failed.
namespace pydoca {

namespace {

using detail::Operands;
using detail::Violation;

namespace limits = detail::limits;

constexpr std::uint64_t answer_size = sizeof(std::uint64_t);

using Names = std::array<const char*, num_rdma_task_kinds>;

/// The buf on this side, and the peer's, indexed by kind; null for kinds without it.
constexpr Names local_names = [] {
  Names names{};
  for (std::size_t kind = 0; kind < names.size(); ++kind) {
    names[kind] = rdma_tasks[kind].local().name;
  }
  return names;
}();
constexpr Names remote_names = [] {
  Names names{};
  for (std::size_t kind = 0; kind < names.size(); ++kind) {
    const TaskTraits& traits = rdma_tasks[kind];
    if (const std::size_t place = traits.find(OperandType::remote); place != TaskTraits::none) {
      names[kind] = traits.operands[place].name;
    }
  }
  return names;
}();

constexpr const char* local_name(RdmaTaskKind kind) noexcept { return local_names[static_cast<std::size_t>(kind)]; }
constexpr const char* remote_name(RdmaTaskKind kind) noexcept { return remote_names[static_cast<std::size_t>(kind)]; }

// The limits of RDMA tasks alone.

/// value: the tailroom for the 8 bytes of an answer.
std::string answer_room(const Violation& violation, const DeviceInfo& /*device*/) {
  return detail::concat(violation.operand, " has ", limits::bytes(violation.value),
                        " of tailroom, and 8 bytes are answered");
}

/// value: the source's bytes, which must be 8.
std::string event_value(const Violation& violation, const DeviceInfo& /*device*/) {
  return detail::concat(violation.operand, " has ", limits::bytes(violation.value),
                        " of data, and a sync event's value has 8");
}

/// value: the bytes from the operand's data on, of which an atomic changes 8.
std::string word_length(const Violation& violation, const DeviceInfo& /*device*/) {
  return detail::concat(violation.operand, " has ", limits::bytes(violation.value),
                        " from its data on, and an atomic changes 8");
}

/// value: the address of an atomic.
std::string word_address(const Violation& violation, const DeviceInfo& /*device*/) {
  return detail::concat(violation.operand, "'s data is at ", detail::hex(violation.value),
                        ", and an atomic's 8 bytes begin at a multiple of 8");
}

/// The connection is another context's, or has ended.
std::string other_connection(const Violation& /*violation*/, const DeviceInfo& /*device*/) {
  return detail::concat("the connection is another context's; use one of this context");
}

std::string closed_event(const Violation& /*violation*/, const DeviceInfo& /*device*/) {
  return detail::concat("the sync event is closed; import another");
}

}  // namespace

bool library::RdmaTask::breaks_limit(Violation* why) const noexcept {
  const pydoca::Rdma* const its = connection_ != nullptr ? connection_->rdma() : nullptr;
  // One that is closed is not refused here: submission answers not_connected.
  if (kind() != RdmaTaskKind::receive && (connection_ == nullptr || (its != nullptr && its != &rdma()))) {
    return broken(why, {.limit = other_connection});
  }
  if (there_ != nullptr && there_->is_free()) [[unlikely]] {
    return broken(why, {.limit = detail::limits::given_back, .operand = remote_name(kind())});
  }
  return breaks_local_limit(why) || breaks_event_limit(why) || breaks_size_limit(why) || breaks_word_limit(why) ||
         (there_ != nullptr && Operands::are_beyond_device(why, remote_name(kind()), *there_, *rdma().device()));
}

bool library::RdmaTask::breaks_local_limit(Violation* why) const noexcept {
  const char* const name = local_name(kind());
  if (here_ == nullptr) {
    return !traits().bufs_may_lack && broken(why, {.limit = limits::missing, .operand = name});
  }
  const bool receives = kind() == RdmaTaskKind::receive;
  const std::uint32_t limit = receives ? rdma().receive_dst_buf_list_len() : rdma().max_send_buf_list_len();
  const char* const setting = receives ? "receive_dst_buf_list_len" : "max_send_buf_list_len";
  if (Operands::break_limit(why, name, *here_, limit, setting, *rdma().device())) {
    return true;
  }
  return traits().answers_word && here_->tailroom() < answer_size &&
         broken(why, {.limit = answer_room, .operand = name, .value = here_->tailroom()});
}

bool library::RdmaTask::breaks_event_limit(Violation* why) const noexcept {
  if (!is_of_event(kind())) {
    return false;
  }
  if (!fills_ && here_->list_data_len() != answer_size) {
    return broken(why, {.limit = event_value, .operand = "src", .value = here_->list_data_len()});
  }
  if (event_ == nullptr) {
    return broken(why, {.limit = limits::missing, .operand = "event"});
  }
  return event_->is_closed() && broken(why, {.limit = closed_event});
}

/// Bytes that this side knows it will move; 0 for atomics and receives.
std::uint64_t library::RdmaTask::size_to_move() const noexcept {
  if (kind() == RdmaTaskKind::read) {
    return there_ != nullptr ? there_->data_len() : 0;
  }
  return !fills_ && here_ != nullptr ? here_->list_data_len() : 0;
}

bool library::RdmaTask::breaks_size_limit(Violation* why) const noexcept {
  const std::uint64_t size = size_to_move();
  const std::uint32_t most = pydoca::Rdma::max_message_size(rdma().device()->info());
  if (size > most) {
    return broken(
        why, {.limit = limits::size, .operand = "src", .setting = "max_message_size", .value = size, .allowed = most});
  }
  if (remote_name(kind()) == nullptr || traits().answers_word) {
    return false;
  }
  const Buf* const dst = dst_buf();
  if (dst == nullptr) {
    return size != 0 && broken(why, {.limit = limits::missing, .operand = "dst"});
  }
  const std::uint64_t room = fills_ ? dst->list_tailroom() : dst->tailroom();  // a peer's buf is one element
  return size > room && broken(why, {.limit = limits::room, .operand = "dst", .value = size, .allowed = room});
}

/// The 8 bytes that an atomic changes at the peer.
bool library::RdmaTask::breaks_word_limit(Violation* why) const noexcept {
  if (remote_name(kind()) == nullptr || !traits().answers_word) {
    return false;
  }
  if (there_ == nullptr) {
    return broken(why, {.limit = limits::missing, .operand = "dst"});
  }
  const std::uint64_t left = there_->head() + there_->len() - there_->data();
  if (left < answer_size) {
    return broken(why, {.limit = word_length, .operand = "dst", .value = left});
  }
  return there_->data() % answer_size != 0 &&
         broken(why, {.limit = word_address, .operand = "dst", .value = there_->data()});
}

std::string library::RdmaTask::explain(Status status) const {
  if (slot != 0 && status == outcome) {
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
                 ? "the process that owns the memory did not answer; shared memory there (in Python of "
                   "pydoca.alloc) needs no answer"
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
  if (Violation violation; breaks_limit(&violation)) {
    return detail::explain(violation, device.info());
  }
  const detail::Use use = fills_ ? detail::Use::writes : detail::Use::reads;
  std::string reason = detail::explain_local_access(local_name(kind()), here_, device, use);
  if (reason.empty() && there_ != nullptr) {
    reason =
        there_->mmap()->is_from_export()
            ? detail::explain_access(remote_name(kind()), there_, device, detail::Use::writes, traits().remote_access)
            : detail::concat(remote_name(kind()),
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
  return is_of_event(kind())
             ? detail::concat(
                   "the event was stopped, is not of this peer, or the permissions of the peer's RDMA context lack ",
                   permission, "; the connection has ended")
             : detail::concat(
                   "the peer's memory is withdrawn, too short, of another peer, or does not permit ", permission,
                   " (by its map's access, and the permissions of its RDMA context); the connection has ended");
}

}  // namespace pydoca

#include "backend/sim/rdma/queue_pair.hpp"

#include "backend/sim/copy/segment_copy.hpp"
#include "backend/sim/rdma/handshake.hpp"
#include "detail/concat.hpp"
#include "detail/thread/crash_point.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace pydoca::sim {

namespace {

using backend::RdmaOpcode;
using backend::RdmaOperation;

/// What this side lacks; its next try may succeed.
constexpr std::array shortages{Status::no_memory, Status::operating_system};
/// The same, and what is wrong with a blob that the application gave.
constexpr std::array passed_on{Status::again, Status::no_memory, Status::operating_system, Status::invalid_value,
                               Status::unsupported_version};

[[noreturn]] void abort_connection(const Error& error, std::span<const Status> kept) {
  const bool same = std::ranges::find(kept, error.status()) != kept.end();
  throw Error(same ? error.status() : Status::connection_aborted, detail::concat("connect: ", error.what()));
}

}  // namespace

QueuePair::QueuePair(RdmaShared& shared, std::uint32_t number)
    : shared_(shared),
      number_(number),
      depth_(shared.options().send_queue_size),
      ordinal_(shared.place().ordinal()),
      removed_(shared.place().removal().happened()),
      inbox_(shared.place(), shared.mailbox(), shared.receive_queue(), number, shared.options().permissions) {}

QueuePair::~QueuePair() {
  if (forks_ == detail::fork_count()) {
    disconnect();
  }
  shared_.forget(number_, *this);
}

void QueuePair::set_handshake(std::unique_ptr<Handshake> handshake) noexcept { handshake_ = std::move(handshake); }

std::vector<std::byte> QueuePair::describe() {
  if (phase_ == Phase::fresh) {
    shared_.receives().admit(number_);
  }
  return inbox_.describe();
}

void QueuePair::require_fresh() const {
  if (phase_ != Phase::fresh) {
    throw Error(Status::bad_state, "connect: it was connected before; export another connection");
  }
}

OwnersEnd QueuePair::owners_end() const {
  return [mailbox = shared_.mailbox(), number = number_] { mailbox->notify(number); };
}

std::shared_ptr<backend::ImportAnswer> QueuePair::ask_peer(std::span<const std::byte> blob) {
  require_fresh();
  try {
    return ask_inbox_owner(shared_.place(), blob);
  } catch (const Error& error) {
    abort_connection(error, passed_on);
  }
}

void QueuePair::connect(std::span<const std::byte> blob, const std::shared_ptr<backend::ImportAnswer>& answer) {
  require_fresh();
  try {
    attach(import_inbox(*ask_inbox_owner(shared_.place(), blob, answer), owners_end()));
  } catch (const Error& error) {
    abort_connection(error, passed_on);
  }
}

void QueuePair::attach(ImportedInbox inbox) {
  auto peer = std::make_unique<PeerInbox>(std::move(inbox));
  InboxPage& own = inbox_.page();
  InboxPage& theirs = peer->page();
  std::uint64_t nobody = 0;
  const std::uint64_t their_peer = theirs.peer.load(std::memory_order_acquire);
  const std::uint64_t our_writer = own.writer.load(std::memory_order_acquire);
  if ((their_peer != 0 && their_peer != inbox_.token()) || (our_writer != 0 && our_writer != peer->token()) ||
      !theirs.writer.compare_exchange_strong(nobody, inbox_.token())) {
    throw Error(Status::connection_aborted, "the peer is connected to another, or was before");
  }
  detail::crash_point();
  own.peer.store(peer->token(), std::memory_order_release);
  detail::crash_point();
  shared_.mailbox()->add(number_, own.doorbell, inbox_.socket());
  trace_id_ = inbox_.token() ^ peer->token();
  peer_ = std::move(peer);
  peer_->page().peer_cpus.store(own_cpus());
  phase_ = Phase::attached;
  look_for_peer();
  shared_.receives().set_peer(number_, peer_.get());
  shared_.attend_again(number_);  // the peer may have sent already
  peer_->tell();                  // its operations may wait for this end
}

void QueuePair::look_for_peer() noexcept {
  if (phase_ == Phase::attached && inbox_.page().writer.load(std::memory_order_acquire) == peer_->token()) {
    phase_ = Phase::connected;
  }
}

void QueuePair::accept(std::span<const std::byte> private_data) {
  HandshakeMessage answer = answer_with(private_data);
  std::ranges::copy(describe(), answer.blob.begin());
  if (handshake_ == nullptr) {
    throw Error(Status::connection_aborted, "accept: the peer has gone");
  }
  handshake_->keep_answer(answer);
  static_cast<void>(begin_import(handshake_->peer_blob()));
}

Status QueuePair::begin_import(std::span<const std::byte> peer) {
  require_fresh();
  try {
    handshake_->begin_import(ask_inbox_owner(shared_.place(), peer));
  } catch (const Error& error) {
    abort_connection(error, shortages);
  }
  const Status status = continue_import();
  if (status == Status::again) {
    shared_.watch_import(*this);
  }
  return status;
}

Status QueuePair::continue_import() {
  try {
    if (handshake_->import()->advance() == Status::again) {
      return Status::again;
    }
    attach(import_inbox(*handshake_->import(), owners_end()));
  } catch (const Error& error) {
    handshake_->end_import();
    abort_connection(error, shortages);
  }
  handshake_->end_import();
  detail::crash_point();
  if (handshake_->role() == Handshake::Role::requester) {
    const Status sent = handshake_->send({.step = HandshakeMessage::Step::ready});
    return sent == Status::again ? Status::connection_aborted : sent;  // again is this function's own word
  }
  handshake_->accept();
  detail::crash_point();
  return Status::success;
}

void QueuePair::reject() {
  if (handshake_ != nullptr) {
    handshake_->reject();
    handshake_.reset();
  }
}

void QueuePair::tell_peer() noexcept {
  if (has_link()) {
    peer_->tell();
  }
}

Status QueuePair::post(RdmaOperation& operation, bool flush) noexcept {
  if (outstanding_ == depth_) [[unlikely]] {
    return Status::again;
  }
  ++outstanding_;
  operation.queue_pair = this;
  if (flush && waiting_.empty() && phase_ == Phase::connected) [[likely]] {
    if (access_at_once(operation)) [[likely]] {
      shared_.finish(operation, Status::success);
    } else {
      begin_slowly(operation);
    }
    return Status::success;
  }
  if (!has_link()) {
    shared_.finish(operation, Status::shutdown);
    return Status::success;
  }
  look_for_peer();
  operation.own = {};
  waiting_.push(operation);
  if (flush) {
    run();
  }
  return Status::success;
}

void QueuePair::conclude(RdmaOperation& operation, Status status) noexcept {
  shared_.finish(operation, status);
  if (status != Status::success) [[unlikely]] {
    lose(status);
  }
}

void QueuePair::run() noexcept {
  while (phase_ == Phase::connected && !waiting_.empty()) {
    RdmaOperation& operation = *waiting_.front();
    const Status status = execute(operation);
    if (status == Status::again) {
      return;
    }
    waiting_.pop();
    conclude(operation, status);
  }
}

/// Does at half the cost of execute() what most operations are: a short write or read between memory of this process
/// and memory that is mapped here. False, and nothing is copied, if it is another, or would fail.
inline bool QueuePair::access_at_once(const RdmaOperation& operation) noexcept {
  if (operation.opcode == RdmaOpcode::write) [[likely]] {
    return copy_at_once<false>(operation);
  }
  return operation.opcode == RdmaOpcode::read && copy_at_once<true>(operation);
}

template <bool reads>
inline bool QueuePair::copy_at_once(const RdmaOperation& operation) noexcept {
  const Segment* const local = operation.local;
  const std::uint64_t length = operation.length;
  if (length - 1 >= largest_piece || local == nullptr || local->next != nullptr) {
    return false;
  }
  const Region* const here = region_of(*local, ordinal_);
  const Region* const there = reachable(operation, length, reads ? Access::rdma_read : Access::rdma_write);
  const std::uint64_t addr = reads ? local->tail() : local->data;
  const std::uint64_t size = reads ? local->tailroom() : local->data_len;
  if (here == nullptr || length > size || !(reads ? here->can_store(addr, size) : here->can_load(addr, size)) ||
      there == nullptr || there->reach() != Region::Reach::mapped || removed_.load(std::memory_order_relaxed) ||
      peer_->is_gone() || !there->revocation_page()->enter()) [[unlikely]] {
    return false;
  }
  std::byte* const mine = here->at(addr);
  std::byte* const theirs = there->at(operation.remote_addr);
  std::memcpy(reads ? mine : theirs, reads ? theirs : mine, length);
  there->revocation_page()->leave();
  return true;
}

void QueuePair::begin_slowly(RdmaOperation& operation) noexcept {
  operation.own = {};
  const Status status = execute(operation);
  if (status == Status::again) {
    waiting_.push(operation);
  } else {
    conclude(operation, status);
  }
}

Status QueuePair::execute(RdmaOperation& operation) noexcept {
  if (shared_.place().removed()) [[unlikely]] {
    return Status::driver;
  }
  if (peer_->is_gone()) [[unlikely]] {
    return Status::connection_reset;
  }
  switch (operation.opcode) {
    case RdmaOpcode::read:
    case RdmaOpcode::write:
      return move(operation);
    case RdmaOpcode::send:
    case RdmaOpcode::send_imm:
    case RdmaOpcode::write_imm:
      return send(operation);
    case RdmaOpcode::compare_swap:
    case RdmaOpcode::fetch_add:
      return change_word(operation);
    case RdmaOpcode::receive:
      return Status::io_failed;
    default:
      return use_counter(operation);
  }
}

void QueuePair::lose(Status status) noexcept {
  if (!has_link()) {
    return;
  }
  const bool established = has_peer_announced();
  close_link(status == Status::connection_reset ? status : Status::shutdown);
  if (established) {
    shared_.report(*this, backend::RdmaEvent::Type::established, Status::success);
  }
  shared_.report(*this, backend::RdmaEvent::Type::disconnected, status);
}

/// A peer may connect, send and leave before this side has read that it is ready.
bool QueuePair::has_peer_announced() noexcept {
  HandshakeMessage ready;
  const bool announced = handshake_ != nullptr && handshake_->role() == Handshake::Role::answerer &&
                         handshake_->receive(ready) == Status::success;
  if (announced) {
    handshake_.reset();
  }
  return announced;
}

void QueuePair::disconnect() noexcept {
  handshake_.reset();
  close_link(Status::shutdown);
}

/// The peer reaches this side no more afterwards, and this side has given back what it had of the peer.
void QueuePair::close_link(Status of_waiting) noexcept {
  const bool had_link = has_link();
  phase_ = Phase::broken;
  shared_.receives().set_peer(number_, nullptr);
  deadline_ = detail::never;
  detail::crash_point();
  inbox_.withdraw();
  detail::crash_point();
  if (had_link) {
    shared_.mailbox()->remove(number_);
    peer_->tell();
    peer_.reset();
  }
  incoming_ = {};
  shared_.receives().reclaim(number_);
  while (RdmaOperation* const operation = waiting_.pop()) {
    forget_question(*operation);
    shared_.finish(*operation, of_waiting);
  }
}

}  // namespace pydoca::sim

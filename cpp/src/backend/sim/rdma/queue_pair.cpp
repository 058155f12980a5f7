#include "backend/sim/rdma/queue_pair.hpp"

#include "backend/sim/copy/segment_copy.hpp"
#include "backend/sim/counter/counter.hpp"
#include "backend/sim/memory/word.hpp"
#include "backend/sim/rdma/connection_manager.hpp"
#include "backend/sim/rdma/rdma_queue.hpp"
#include "detail/concat.hpp"

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

namespace pydoca::sim {

namespace {

using backend::RdmaOpcode;
using backend::RdmaOperation;

/// More than this is moved while the engine polls, piece by piece.
constexpr std::uint64_t largest_piece = std::uint64_t{256} << 10;
/// Less than this is not worth a record while more waits.
constexpr std::uint64_t smallest_piece = 4096;
/// Between two offers of a message to a peer without a receive.
constexpr std::chrono::milliseconds retry_interval{10};
constexpr std::uint64_t word_size = sizeof(std::uint64_t);

// An operation's own words.
constexpr std::size_t offset_word = 0;   ///< bytes moved so far
constexpr std::size_t receive_word = 1;  ///< number + 1 of the receive it has taken; 0: none

bool is_message(RdmaOpcode opcode) noexcept { return opcode == RdmaOpcode::send || opcode == RdmaOpcode::send_imm; }

RecordKind record_of(RdmaOpcode opcode) noexcept {
  switch (opcode) {
    case RdmaOpcode::send_imm:
      return RecordKind::send_imm;
    case RdmaOpcode::write_imm:
      return RecordKind::write_imm;
    default:
      return RecordKind::send;
  }
}

/// Why memory could not be reached: its owner has died, or has withdrawn it. A process loses its memory a moment before
/// its connections end, and this side hears of that another moment later.
Status cause_of(Status status, const Region& there) noexcept {
  const Gate* const gate = there.gate();
  const auto end = QueuePair::Clock::now() + std::chrono::milliseconds(200);
  while (gate != nullptr && !gate->is_closed() && QueuePair::Clock::now() < end) {
    std::this_thread::yield();
  }
  return gate != nullptr && gate->reason() == Gate::owner_died ? Status::connection_reset : status;
}

RecordHeader header_of(const RdmaOperation& operation, RecordKind kind) noexcept {
  return {.kind = kind,
          .receive = operation.own[receive_word] - 1,
          .total = operation.length,
          .immediate = operation.immediate};
}

[[noreturn]] void abort_connection(const Error& error) {
  constexpr Status passed_on[] = {Status::invalid_value, Status::unsupported_version, Status::again, Status::no_memory,
                                  Status::operating_system};
  const bool same = std::ranges::find(passed_on, error.status()) != std::end(passed_on);
  throw Error(same ? error.status() : Status::connection_aborted, detail::concat("connect: ", error.what()));
}

}  // namespace

QueuePair::QueuePair(RdmaQueue& queue, std::uint32_t number)
    : queue_(queue),
      number_(number),
      depth_(queue.options().send_queue_size),
      ordinal_(queue.place().ordinal()),
      inbox_(queue.place(), queue.mailbox(), number, queue.options().permissions) {}

QueuePair::~QueuePair() {
  if (forks_ == detail::fork_count()) {
    disconnect();
  }
  queue_.forget(*this);
}

void QueuePair::set_handshake(std::unique_ptr<Handshake> handshake) noexcept { handshake_ = std::move(handshake); }

void QueuePair::connect(std::span<const std::byte> blob) {
  if (phase_ != Phase::fresh) {
    throw Error(Status::bad_state, "connect: it was connected before; export another connection");
  }
  std::unique_ptr<PeerInbox> peer;
  try {
    peer = std::make_unique<PeerInbox>(queue_.place(), blob, detail::Fd::duplicate_of(queue_.mailbox()->event_fd()));
  } catch (const Error& error) {
    abort_connection(error);
  }
  InboxPage& own = inbox_.page();
  InboxPage& theirs = peer->page();
  std::uint64_t nobody = 0;
  const std::uint64_t their_peer = theirs.peer.load(std::memory_order_acquire);
  const std::uint64_t our_writer = own.writer.load(std::memory_order_acquire);
  if ((their_peer != 0 && their_peer != own.token) || (our_writer != 0 && our_writer != theirs.token) ||
      !theirs.writer.compare_exchange_strong(nobody, own.token)) {
    throw Error(Status::connection_aborted, "connect: the peer is connected to another, or was before");
  }
  own.peer.store(theirs.token, std::memory_order_release);
  peer_ = std::move(peer);
  phase_ = Phase::connected;
  queue_.attend_again(*this);  // the peer may have sent already
}

void QueuePair::accept(std::span<const std::byte> private_data) { handshake_->accept(*this, private_data); }

void QueuePair::reject() {
  handshake_->reject();
  handshake_.reset();
}

void QueuePair::tell_peer() noexcept {
  if (phase_ == Phase::connected) {
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
    const Status status = begin(operation);
    if (status == Status::again) {
      waiting_.push(operation);
    } else {
      conclude(operation, status);
    }
    return Status::success;
  }
  if (phase_ != Phase::connected) {
    queue_.finish(operation, Status::shutdown);
    return Status::success;
  }
  operation.own = {};
  waiting_.push(operation);
  if (flush) {
    run();
  }
  return Status::success;
}

void QueuePair::conclude(RdmaOperation& operation, Status status) noexcept {
  queue_.finish(operation, status);
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

/// execute() in one for a short write or read between memory that is mapped here, which most operations are: at half
/// the cost.
Status QueuePair::begin(RdmaOperation& operation) noexcept {
  const bool reads = operation.opcode == RdmaOpcode::read;
  const Segment* const local = operation.local;
  if ((!reads && operation.opcode != RdmaOpcode::write) || operation.length == 0 || operation.length > largest_piece ||
      local == nullptr || local->next != nullptr) {
    return begin_slowly(operation);
  }
  const Region* const here = region_of(*local, ordinal_);
  const Region* const there = reachable(operation, operation.length, reads ? Access::rdma_read : Access::rdma_write);
  const bool allowed = reads ? writable(*local, ordinal_) && operation.length <= local->tailroom()
                             : readable(*local, ordinal_) && operation.length <= local->data_len;
  if (!allowed || here->kind() != Region::Kind::local || there == nullptr || there->kind() != Region::Kind::mapped ||
      queue_.place().removed() || peer_->is_gone() || !there->gate()->enter()) [[unlikely]] {
    return begin_slowly(operation);
  }
  if (reads) {
    std::memcpy(here->at(local->tail()), there->at(operation.remote_addr), operation.length);
  } else {
    std::memcpy(there->at(operation.remote_addr), here->at(local->data), operation.length);
  }
  there->gate()->leave();
  return Status::success;
}

Status QueuePair::begin_slowly(RdmaOperation& operation) noexcept {
  operation.own = {};
  return execute(operation);
}

Status QueuePair::execute(RdmaOperation& operation) noexcept {
  if (queue_.place().removed()) [[unlikely]] {
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

const Region* QueuePair::reachable(const RdmaOperation& operation, std::uint64_t length, Access needed) const noexcept {
  const Region* const there = operation.remote != nullptr ? region_of(*operation.remote, ordinal()) : nullptr;
  const bool sound = there != nullptr && length <= operation.remote_len && allows_peer(needed) &&
                     allows(there->network_access(), needed) && there->origin() == peer_->origin() &&
                     there->contains(operation.remote_addr, length);
  return sound ? there : nullptr;
}

Status QueuePair::move(RdmaOperation& operation) noexcept {
  if (operation.length == 0) {
    return Status::success;
  }
  const bool reads = operation.opcode == RdmaOpcode::read;
  const Region* const there = reachable(operation, operation.length, reads ? Access::rdma_read : Access::rdma_write);
  const RdmaCapabilities& limits = *queue_.place().capabilities().rdma;
  const std::uint32_t max_len = queue_.options().max_send_segments;
  const bool here = reads ? can_scatter(operation.local, operation.length, ordinal(), max_len)
                          : can_gather(operation.local, operation.length, ordinal(), max_len);
  if (there == nullptr || !here || operation.length > limits.max_message_size) {
    return Status::io_failed;
  }
  return move_piece(operation, *there);
}

Status QueuePair::move_piece(RdmaOperation& operation, const Region& there) noexcept {
  std::uint64_t& offset = operation.own[offset_word];
  const std::uint64_t size = std::min(largest_piece, operation.length - offset);
  const Status status = operation.opcode == RdmaOpcode::read
                            ? scatter(there, operation.remote_addr + offset, operation.local, ordinal(), offset, size)
                            : gather(operation.local, ordinal(), offset, there, operation.remote_addr + offset, size);
  if (status != Status::success) {
    return cause_of(status, there);
  }
  offset += size;
  if (offset == operation.length) {
    return Status::success;
  }
  queue_.attend_again(*this);
  return Status::again;
}

/// The eight bytes that come back.
Status QueuePair::answer(const RdmaOperation& operation, std::uint64_t word) noexcept {
  const Bytes bytes(reinterpret_cast<std::byte*>(&word), word_size);
  return scatter(bytes, bytes.addr(), operation.local, ordinal(), 0, word_size);
}

Status QueuePair::change_word(const RdmaOperation& operation) noexcept {
  const Region* const there = reachable(operation, word_size, Access::rdma_atomic);
  if (there == nullptr || operation.remote_addr % word_size != 0 ||
      !can_scatter(operation.local, word_size, ordinal(), queue_.options().max_send_segments)) {
    return Status::io_failed;
  }
  std::uint64_t before = 0;
  const WordChange change{.addr = operation.remote_addr,
                          .compare = operation.compare,
                          .operand = operation.operand,
                          .swaps = operation.opcode == RdmaOpcode::compare_swap ? 1U : 0U};
  const Status status = sim::change_word(*there, change, before);
  return status == Status::success ? answer(operation, before) : cause_of(status, *there);
}

Status QueuePair::use_counter(const RdmaOperation& operation) noexcept {
  const bool sets = operation.opcode == RdmaOpcode::counter_set;
  const bool adds = operation.opcode == RdmaOpcode::counter_add;
  const Access needed = sets ? Access::rdma_write : adds ? Access::rdma_atomic : Access::rdma_read;
  const std::uint32_t max_len = queue_.options().max_send_segments;
  const bool here = sets ? operation.length == word_size && can_gather(operation.local, word_size, ordinal(), max_len)
                         : can_scatter(operation.local, word_size, ordinal(), max_len);
  if (!here || operation.counter == nullptr || !allows_peer(needed) ||
      origin_of(*operation.counter) != peer_->origin()) {
    return Status::io_failed;
  }
  std::uint64_t word = 0;
  Bytes bytes(reinterpret_cast<std::byte*>(&word), word_size);
  Status status = Status::success;
  if (sets) {
    status = gather(operation.local, ordinal(), 0, bytes, bytes.addr(), word_size);
    status = status == Status::success ? operation.counter->store(word) : status;
  } else if (adds) {
    status = operation.counter->fetch_add(operation.operand, word);
  } else {
    word = operation.counter->load();
    status = operation.counter->failure(0);
  }
  if (status == Status::bad_state) {
    return Status::io_failed;  // withdrawn: memory that is not there
  }
  return status == Status::success && !sets ? answer(operation, word) : status;
}

Status QueuePair::send(RdmaOperation& operation) noexcept {
  const RdmaCapabilities& limits = *queue_.place().capabilities().rdma;
  if (is_message(operation.opcode) &&
      (operation.length > limits.max_message_size ||
       !can_gather(operation.local, operation.length, ordinal(), queue_.options().max_send_segments))) {
    return Status::io_failed;
  }
  if (!peer_->gate().enter()) {
    return Status::connection_reset;
  }
  const Status status = send_inside(operation);
  peer_->gate().leave();
  if (status != Status::again) {
    peer_->tell();
  }
  return status;
}

Status QueuePair::send_inside(RdmaOperation& operation) noexcept {
  if (operation.own[receive_word] == 0) {
    const Status status = take_receive(operation);
    if (status != Status::success) {
      return status;
    }
  }
  return operation.opcode == RdmaOpcode::write_imm ? write_then_tell(operation) : send_pieces(operation);
}

Status QueuePair::take_receive(RdmaOperation& operation) noexcept {
  auto taken = peer_->receives().take(peer_->number());
  if (!taken.has_value()) {
    peer_->receives().want();
    taken = peer_->receives().take(peer_->number());
  }
  if (!taken.has_value()) {
    return wait_for_receive();
  }
  deadline_.reset();
  operation.own[receive_word] = taken->number + 1;
  if (is_message(operation.opcode) && operation.length > taken->room) {
    operation.own[offset_word] = operation.length;  // nothing but the news is sent
  }
  return Status::success;
}

Status QueuePair::wait_for_receive() noexcept {
  if (queue_.options().rnr_retry_count >= backend::rnr_retry_for_ever) {
    return Status::again;
  }
  const Clock::time_point now = Clock::now();
  if (!deadline_.has_value()) {
    deadline_ = now + (queue_.options().rnr_retry_count + 1) * retry_interval;
  }
  if (now >= *deadline_) {
    return Status::time_out;
  }
  queue_.watch_deadline(*deadline_);
  return Status::again;
}

/// Room for a record of that size. again: the peer will tell.
Status QueuePair::reserve(std::uint64_t size, std::uint64_t& room) noexcept {
  MessageRing& ring = peer_->ring();
  bool sound = ring.room(room);
  if (sound && room < size) {
    ring.want_room();
    sound = ring.room(room);
  }
  if (!sound) {
    return Status::connection_reset;  // whose memory says what cannot be is no peer
  }
  return room < size ? Status::again : Status::success;
}

/// The next bytes of a message, to where the next record's payload goes.
Status QueuePair::fill(const RdmaOperation& operation, std::uint64_t size) noexcept {
  MessageRing& ring = peer_->ring();
  Status status = Status::success;
  for (std::uint64_t done = 0; done < size && status == Status::success;) {
    const MessageRing::Run run = ring.run_at(ring.payload_position() + done, size - done);
    const Bytes bytes(run.bytes, run.size);
    status = gather(operation.local, ordinal(), operation.own[offset_word] + done, bytes, bytes.addr(), run.size);
    done += run.size;
  }
  return status;
}

/// Bytes of a message, as many as there is room for.
Status QueuePair::send_pieces(RdmaOperation& operation) noexcept {
  std::uint64_t& offset = operation.own[offset_word];
  for (;;) {
    const std::uint64_t left = operation.length - offset;
    std::uint64_t room = 0;
    Status status = reserve(MessageRing::footprint(std::min(left, smallest_piece)), room);
    if (status != Status::success) {
      return status;
    }
    const bool too_long = left == 0 && operation.length != 0;
    RecordHeader header = header_of(operation, offset != 0 ? RecordKind::more : record_of(operation.opcode));
    header.size = static_cast<std::uint32_t>(std::min(left, room - sizeof header));
    status = too_long ? Status::io_failed : fill(operation, header.size);
    if (status != Status::success) {
      peer_->ring().publish(header_of(operation, RecordKind::too_long));
      return Status::io_failed;
    }
    peer_->ring().publish(header);
    offset += header.size;
    if (offset == operation.length) {
      return Status::success;
    }
    peer_->tell();
  }
}

Status QueuePair::write_then_tell(RdmaOperation& operation) noexcept {
  std::uint64_t room = 0;
  Status status = reserve(sizeof(RecordHeader), room);
  if (status != Status::success) {
    return status;
  }
  status = move(operation);
  if (status != Status::again) {
    const bool placed = status == Status::success;
    peer_->ring().publish(header_of(operation, placed ? RecordKind::write_imm : RecordKind::too_long));
  }
  return status;
}

void QueuePair::lose(Status status) noexcept {
  if (phase_ != Phase::connected) {
    return;
  }
  close_link(status == Status::connection_reset ? status : Status::shutdown);
  queue_.report(*this, backend::RdmaEvent::Kind::disconnected, status);
}

void QueuePair::disconnect() noexcept {
  handshake_.reset();
  close_link(Status::shutdown);
}

/// No peer reaches this side afterwards, and what this side had from it is given back.
void QueuePair::close_link(Status of_waiting) noexcept {
  const bool was_connected = phase_ == Phase::connected;
  phase_ = Phase::broken;
  deadline_.reset();
  inbox_.withdraw();
  if (was_connected) {
    peer_->tell();
    peer_.reset();
  }
  incoming_ = {};
  queue_.reclaim_receives(number_);
  while (RdmaOperation* const operation = waiting_.pop()) {
    queue_.finish(*operation, of_waiting);
  }
}

}  // namespace pydoca::sim

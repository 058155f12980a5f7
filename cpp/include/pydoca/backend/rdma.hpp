#pragma once

#include "pydoca/backend/queue.hpp"
#include "pydoca/segment.hpp"
#include "pydoca/status.hpp"
#include "pydoca/types.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace pydoca::backend {

class Counter;
class ImportAnswer;
class QueuePair;

/// What a queue pair can be asked to do, numbered as RdmaTaskKind. The first is for all queue pairs of a context, the
/// others name one.
enum class RdmaOpcode : std::uint8_t {
  receive,
  send,
  send_imm,
  read,
  write,
  write_imm,
  compare_swap,
  fetch_add,
  counter_get,  ///< on a sync event of the peer's, as the next two
  counter_set,
  counter_add,
};
inline constexpr std::size_t num_rdma_opcodes = 11;

/// How a message came: the numbers are doca_rdma_opcode's.
enum class ReceivedAs : std::uint8_t { send = 0, send_with_imm = 1, write_with_imm = 2 };

/// One operation of a queue pair, or one receive. Data of sends and writes are the data sections of local, in list
/// order; received and read data go to its tailrooms, and so do the eight bytes that atomics and counters answer. The
/// queue does not change data_len. Both ends use the machine's byte order for what is fetched, added and compared.
struct RdmaOperation : Operation {
  RdmaOpcode opcode = RdmaOpcode::receive;
  ReceivedAs received_as = ReceivedAs::send;  ///< set once a receive is back with success
  Segment* local = nullptr;                   ///< null: no bytes; else the head of a list
  std::uint64_t length = 0;  ///< bytes to send, write or read. Once a receive or read is back: bytes that came.

  // The memory of read, write, write_imm, compare_swap and fetch_add, which the peer exported and this side imported.
  const Segment* remote = nullptr;  ///< null: no bytes
  std::uint64_t remote_addr = 0;
  std::uint64_t remote_len = 0;  ///< at remote_addr, within the segment; less than length is an error of the device
  Counter* counter = nullptr;    ///< counter_get, _set, _add use it: imported with CounterScope::remote_net

  std::uint64_t operand = 0;  ///< what to add, or to swap in
  std::uint64_t compare = 0;
  std::uint32_t immediate = 0;  ///< as DOCA has it, big-endian; in a receive: what came with the message
  std::uint32_t message = 0;    ///< its number in traces, 0: none; in a receive: what came with it, as immediate

  /// What a receive was filled by, once it is back with success; null once that queue pair is destroyed.
  QueuePair* queue_pair = nullptr;

  std::array<std::uint64_t, 4> own{};  ///< the queue's, while it has the operation
};

/// One end of a reliable connection (RC). An RdmaQueue makes it and outlives it; both belong to one thread. Operations
/// begin in the order in which they were posted. After one has failed the queue pair is broken: it ends the others and
/// all that is posted later with status shutdown, and RdmaEvent::disconnected follows. Operations that fail because the
/// peer has gone have status connection_reset.
///
/// Statuses of operations that fail in the device: io_failed (memory that is not there, not reachable or not permitted,
/// at either end; a message longer than the peer's receive), time_out (the peer never had a receive, for as long as
/// rnr_retry_count says, or did not answer), connection_reset, driver (the device was removed, or its driver failed).
class QueuePair {
 public:
  /// Disconnects. Every operation must have come back.
  virtual ~QueuePair() = default;

  /// What the peer needs for connect(), < 512 bytes: for a queue pair of create_queue_pair().
  virtual std::vector<std::byte> describe() = 0;
  /// Asks the peer that blob describes for what connect() needs of it, and returns; null when that needs nothing.
  /// Throws as connect() does.
  virtual std::shared_ptr<ImportAnswer> ask_peer(std::span<const std::byte> blob);
  /// Connects to the queue pair that blob describes; operations may be posted when it returns, whether or not the peer
  /// has connected as well. answer: from ask_peer(blob), or null; it waits for what the answer lacks. Throws
  /// invalid_value, unsupported_version (no such blob), bad_state (it is connected), connection_aborted (the peer has
  /// gone, does not answer, or is connected to another), again (a signal ended the wait).
  virtual void connect(std::span<const std::byte> blob, const std::shared_ptr<ImportAnswer>& answer) = 0;

  // The answers to an incoming connection. They throw connection_aborted when the peer has gone or its request makes no
  // sense, invalid_value for too much private data, no_memory and operating_system: then it can be answered again.
  // Established or failed follows accept(), which waits for no peer.
  virtual void accept(std::span<const std::byte> private_data) = 0;
  virtual void reject() = 0;

  /// again: send_queue_size operations are outstanding. The operation comes back through the RdmaQueue's poll(), never
  /// before post() returns. Without flush it may wait for flush() or for the next one with it.
  virtual Status post(RdmaOperation& operation, bool flush) noexcept = 0;
  /// Ends the connection, if there is one: this end's operations come back with shutdown, and it gives no event. The
  /// peer is told; where only RDMA-CM tells, a peer of another connection learns of it by its next operation.
  virtual void disconnect() noexcept = 0;

  /// The number that both ends have for the connection, for traces; 0: none, and messages carry no numbers.
  virtual std::uint64_t trace_id() const noexcept { return 0; }

  void* owner = nullptr;  ///< the engine's
};

/// Where a peer listens. IPv4 is kept in the last four bytes.
struct RdmaAddress {
  RdmaAddressType type = RdmaAddressType::ipv4;
  Gid raw{};
  std::uint16_t port = 0;

  bool operator==(const RdmaAddress&) const = default;
};

/// What happened to a connection. A connection made by blobs reports only disconnected.
struct RdmaEvent {
  enum class Type : std::uint8_t {
    request,       ///< a peer connects to a port: incoming is to be accepted, rejected or destroyed
    established,   ///< both ends report it
    failed,        ///< the connection could not be made: status says why
    disconnected,  ///< the peer left, has died or broke the rules, or an operation failed
  };
  Type type = Type::established;
  QueuePair* queue_pair = nullptr;
  std::unique_ptr<QueuePair> incoming;
  RdmaAddress peer;  ///< the peer of a request
  /// connection_aborted (rejected), not_found (no process listens), time_out, connection_reset ...
  Status status = Status::success;
  std::array<std::byte, 256> private_data{};  ///< the peer's, with request and established
  std::size_t private_data_len = 0;           ///< bytes
};

/// The value of RdmaOptions::rnr_retry_count that has a message offered until the peer has a receive.
inline constexpr std::uint8_t rnr_retry_for_ever = 7;

struct RdmaOptions {
  std::uint32_t send_queue_size = 0;  ///< operations outstanding, of each queue pair
  std::uint32_t recv_queue_size = 0;  ///< receives outstanding; 0: there will be none
  std::uint32_t max_send_segments = 1;
  std::uint32_t max_recv_segments = 1;
  std::uint16_t max_num_connections = 1;
  Access permissions{};  ///< RDMA flags: what peers may do here, if the memory also allows it
  MtuSize mtu = MtuSize::bytes_1024;
  std::uint32_t gid_index = 0;
  std::uint32_t service_level = 0;  ///< 0..15
  bool grh_enabled = true;
  std::uint8_t rnr_retry_count = rnr_retry_for_ever;           ///< 0..7
  std::chrono::milliseconds connection_request_timeout{2000};  ///< how long connect_to() and accept() wait for the peer
};

/// What the connections of one context share: their completions, the receives, which any of them may fill in the order
/// of their posting, and the ways to connect. Destroy the queue pairs first.
class RdmaQueue : public Queue {
 public:
  /// again: recv_queue_size receives are outstanding.
  virtual Status post_receive(RdmaOperation& operation, bool flush) noexcept = 0;

  /// Creates a queue pair to be connected by blobs. Throws no_memory, operating_system.
  virtual std::unique_ptr<QueuePair> create_queue_pair() = 0;

  // These connect by address (RDMA-CM). They throw not_supported where the device has no connection manager.
  /// Throws already_exist when the port is in use.
  virtual void listen(std::uint16_t port);
  virtual void stop_listening(std::uint16_t port) noexcept;
  /// Established or failed follows. Throws invalid_value for an address that the device cannot reach, or too much
  /// private data.
  virtual std::unique_ptr<QueuePair> connect_to(const RdmaAddress& address, std::span<const std::byte> private_data);
  /// The next event; false when there is none. Events of a queue pair come after the completions that precede them.
  virtual bool next_event(RdmaEvent& event) noexcept = 0;
  /// Pollable: readable while next_event() may give something. -1: fd() and the notifier announce it.
  virtual int event_fd() const noexcept { return -1; }
};

}  // namespace pydoca::backend

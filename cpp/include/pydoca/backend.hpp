#pragma once

/// What a backend offers to the engine. Its words are the verbs': a memory region is memory as one device sees it, a
/// queue takes operations and gives completions, a channel carries messages. Nothing above this page knows a backend,
/// nothing below it knows a progress engine, a context or a task.

#include "pydoca/memory.hpp"
#include "pydoca/status.hpp"
#include "pydoca/types.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::detail {
class ReadyList;
class ReadyNode;
}  // namespace pydoca::detail

namespace pydoca::backend {

// ---- What a device is -----------------------------------------------------------------------------------------

struct DmaCapabilities {
  std::uint64_t max_buf_size = 0;  ///< bytes per task
  std::uint32_t max_buf_list_len = 0;
  std::uint32_t max_num_tasks = 0;
};

struct ComchCapabilities {
  bool server = false;
  bool client = false;
  std::uint32_t max_name_len = 0;  ///< including the terminating NUL
  std::uint32_t max_msg_size = 0;  ///< bytes
  std::uint32_t max_recv_queue_size = 0;
  std::uint32_t max_clients = 0;
  std::uint32_t max_send_tasks = 0;
};

struct SyncEventCapabilities {
  bool export_to_remote_pci = false;
  bool create_from_export = false;
  bool export_to_remote_net = false;
  bool remote_net_create_from_export = false;
  bool async_wait = false;          ///< wait tasks: BlueField-3, ConnectX-7 and newer
  std::uint32_t max_num_tasks = 0;  ///< of each kind
};

using Gid = std::array<std::uint8_t, 16>;

/// What a queue pair can be asked to do. The first is for all queue pairs of a context, the others name one.
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

/// A refusal is the reason why something is not there ("rxe0 has no atomics"); empty: it is there.
struct RdmaCapabilities {
  std::uint32_t max_send_queue_size = 0;  ///< operations outstanding on one queue pair
  std::uint32_t max_recv_queue_size = 0;  ///< receives outstanding
  std::uint32_t max_send_buf_list_len = 0;
  std::uint32_t max_recv_buf_list_len = 0;
  std::uint32_t max_message_size = 0;  ///< bytes
  std::uint16_t max_num_connections = 0;
  MtuSize max_mtu = MtuSize::bytes_4096;
  std::vector<Gid> gids;                                ///< the table of the device's port; never empty
  std::uint32_t default_gid_index = 0;                  ///< the one that reaches most peers
  std::array<std::string, num_rdma_opcodes> no_opcode;  ///< refusals, by RdmaOpcode
  std::string no_connection_manager;                    ///< refusal of connecting by address
  std::string no_dynamically_connected;                 ///< refusal of transport DC
};

/// An absent engine is an empty optional; queries on it answer not_supported.
struct Capabilities {
  std::optional<DmaCapabilities> dma;
  std::optional<ComchCapabilities> comch;
  std::optional<SyncEventCapabilities> sync_event;
  std::optional<RdmaCapabilities> rdma;
  std::string no_rdma = "the backend has no RDMA for it";  ///< why rdma is empty, when it is
  bool mmap_export_pci = false;
  bool mmap_create_from_export_pci = false;
  bool mmap_export_rdma = false;
  bool rep_filter_all = false;
  bool rep_filter_net = false;
  bool rep_filter_emulated = false;
  bool hotplug_manager = false;
};

/// One function as enumeration saw it.
struct DeviceProperties {
  std::string backend;   ///< "sim", "verbs"
  std::string name;      ///< unique within a backend and side: "pf0", "p0", "rxe0"
  std::string pci_addr;  ///< "0000:03:00.0"; empty for a device in software, such as Soft-RoCE
  PciFuncType func_type = PciFuncType::pf;
  Side side = Side::host;
  std::string iface_name;
  std::string ibdev_name;
  std::string vuid;
  std::string profile;                                  ///< "bluefield3", ...
  std::optional<std::array<std::uint8_t, 6>> mac_addr;  ///< absent on an InfiniBand port
  std::optional<std::array<std::uint8_t, 4>> ipv4_addr;
  std::optional<std::array<std::uint8_t, 16>> ipv6_addr;
  std::optional<std::uint16_t> lid;       ///< InfiniBand link layer only
  std::optional<std::uint32_t> sf_index;  ///< SFs only
  std::uint64_t active_rate = 0;          ///< bits/s
  std::uint16_t vhca_id = 0;
  Capabilities capabilities;
};

/// A function of the other side (or an SF) as the DPU sees it.
struct RepresentorProperties {
  std::string name;      ///< "pf0hpf", ...
  std::string pci_addr;  ///< the represented function's address on its own side
  PciFuncType func_type = PciFuncType::pf;
  std::string vuid;
  std::string iface_name;
  std::uint16_t vhca_id = 0;
  bool is_hotplug = false;
  bool is_emulated = false;
};

// ---- Telling the engine that there is something to poll --------------------------------------------------------

/// What a backend is lent with each queue, to say that the queue's context has something to do. Notifications are
/// hints: one too many costs time, and not correctness.
class Notifier {
 public:
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  /// poll() would return something. Only on the engine's own thread.
  void notify() noexcept {
    if (!listed_) {
      list();
    }
  }
  /// The same from any thread; wakes an armed engine. The caller must have published what poll() will find.
  void notify_from_any_thread() noexcept;
  /// assist() could do a piece of work now. Only on the engine's own thread. Never keeps an engine from sleeping.
  void offer_assist() noexcept;

 private:
  friend class pydoca::detail::ReadyList;
  friend class pydoca::detail::ReadyNode;
  Notifier() = default;
  ~Notifier() = default;
  void list() noexcept;

  detail::ReadyList* ready_ = nullptr;
  bool listed_ = false;
};

// ---- Memory -----------------------------------------------------------------------------------------------------

/// An upper limit of simultaneously open devices in a process; a device's ordinal is below it.
inline constexpr std::size_t max_open_devices = 32;

/// Memory as one device sees it, registered or imported.
class MemoryRegion {
 public:
  virtual ~MemoryRegion() = default;

  /// Makes the region known to the other side and describes it in a blob of < 512 bytes. access holds exactly one PCI
  /// flag. Throws not_supported.
  virtual std::vector<std::byte> export_pci(Access access);
  /// The same for a network peer. access holds at least one RDMA flag, and no other.
  virtual std::vector<std::byte> export_rdma(Access access);
  /// What rdma-core's requests name the region by: its remote key, and the local one where it is this process's.
  /// Throws not_supported.
  virtual std::uint32_t mkey() const;

  /// Of imported memory: why it cannot be reached any more, as "its owner ..."; empty while it can, or where nothing
  /// tells.
  virtual std::string_view lost() const noexcept { return {}; }

  /// Withdraws every export and waits for remote accesses under way. again: a peer's access has not ended in time, or a
  /// signal ended the wait (interrupted()); the exports are dead all the same, and calling once more waits once more.
  /// Destroying without success leaks the region's memory rather than let a peer write into memory that has a new
  /// owner.
  virtual Status withdraw() noexcept { return Status::success; }
};

struct MemoryRange {
  std::byte* addr = nullptr;
  std::size_t len = 0;
  std::optional<MemoryLocation> location;  ///< set when the range lies in pydoca memory
};

struct ImportedRegion {
  std::unique_ptr<MemoryRegion> region;
  std::uint64_t addr = 0;  ///< in the exporter's address space
  std::uint64_t len = 0;
  Access access{};
};

/// One element of a scatter-gather list; a Buf is one. Addresses are those of the memory map's owner.
struct Segment {
  MemoryRegion* const* regions = nullptr;  ///< indexed by the device's ordinal; null where the device was not added
  std::uint64_t head = 0;
  std::uint64_t len = 0;
  std::uint64_t data = 0;
  std::uint64_t data_len = 0;
  Segment* next = nullptr;

  std::uint64_t tail() const noexcept { return data + data_len; }
  std::uint64_t tailroom() const noexcept { return head + len - tail(); }
};

// ---- Queues -----------------------------------------------------------------------------------------------------

/// An operation, embedded in the task that asked for it; the queue has it from post() until poll() returns it.
struct Operation {
  Operation* next = nullptr;  ///< the queue's, while it has the operation
  Status status = Status::success;
};

/// Copies the data sections of src, in list order, to the tailrooms of dst. The queue does not touch data_len.
struct CopyOperation : Operation {
  const Segment* src = nullptr;
  Segment* dst = nullptr;
  std::uint64_t length = 0;  ///< sum of src's data_len, as of submission

  // The queue's own while it has the operation: pieces claimed and finished by the cores that copy.
  std::atomic<std::uint32_t> claimed{0};
  std::atomic<std::uint32_t> finished{0};
  std::atomic<Status> worst{Status::success};
  void* queue = nullptr;
};

/// Belongs to one thread, as its engine does. A device's completions are taken in batches and given one by one.
///
/// How an engine hears of them: what is finished in the engine's own thread notifies by the notifier that the queue was
/// lent, and so may other threads; a queue that has a descriptor is also looked at, while the engine polls, and armed
/// before the engine sleeps.
class Queue {
 public:
  virtual ~Queue() = default;

  /// Pollable: readable when something came after arm(). -1: the notifier tells of everything.
  virtual int fd() const noexcept { return -1; }
  /// Whether poll(), or next_event() of an RdmaQueue, would give something. Called often: no system call.
  virtual bool look() noexcept { return false; }
  /// From now on something new makes fd() readable; what came before must be looked for afterwards. The next poll()
  /// takes it back and empties fd().
  virtual void arm() noexcept {}

  /// One finished operation, or null. more tells whether another one is waiting.
  virtual Operation* poll(bool& more) noexcept = 0;
  /// Does one piece of an operation on the calling core; false when there was none to do.
  virtual bool assist() noexcept { return false; }
  /// Posts what was accepted without flush.
  virtual void flush() noexcept {}
  /// Ends every operation not yet begun with status shutdown; those under way finish. All reach poll().
  virtual void abort() noexcept = 0;
};

/// After an operation has failed the queue is broken: it flushes what it has and all that is posted later, with status
/// shutdown.
class CopyQueue : public Queue {
 public:
  /// again: the queue is full. The operation comes back through poll(), never before post() returns.
  virtual Status post(CopyOperation& operation, bool flush) noexcept = 0;
};

struct QueueOptions {
  std::uint32_t depth = 0;  ///< operations that may be outstanding
};

// ---- Queue pairs ------------------------------------------------------------------------------------------------

class Counter;
class QueuePair;

/// How a message came: the numbers are doca_rdma_opcode's.
enum class ReceivedAs : std::uint8_t { send = 0, send_with_imm = 1, write_with_imm = 2 };

/// One operation of a queue pair, or one receive. Data of sends and writes are the data sections of local, in list
/// order; received and read data go to its tailrooms, and so do the eight bytes that atomics and counters answer. The
/// queue does not touch data_len. Both ends of what is fetched, added and compared are in the machine's byte order.
struct RdmaOperation : Operation {
  RdmaOpcode opcode = RdmaOpcode::receive;
  Segment* local = nullptr;  ///< null: no bytes; else the head of a list
  std::uint64_t length = 0;  ///< bytes to send, write or read. Once a receive or read is back: bytes that came.

  // Of read, write, write_imm, compare_swap and fetch_add: memory that the peer exported, and imported here.
  const Segment* remote = nullptr;  ///< null: no bytes
  std::uint64_t remote_addr = 0;
  std::uint64_t remote_len = 0;  ///< at remote_addr, within the segment; less than length is an error of the device
  Counter* counter = nullptr;    ///< of counter_get, counter_set, counter_add: imported with CounterScope::remote_net

  std::uint64_t operand = 0;  ///< what to add, or to swap in
  std::uint64_t compare = 0;
  std::uint32_t immediate = 0;  ///< as DOCA has it, big-endian; of a receive: what came with the message

  // What a receive was filled by, once it is back with success.
  ReceivedAs received_as = ReceivedAs::send;
  QueuePair* queue_pair = nullptr;  ///< null once that queue pair is gone

  std::array<std::uint64_t, 4> own{};  ///< the queue's, while it has the operation
};

/// One end of a reliable connection (RC). Made by an RdmaQueue, which it does not outlive; same thread. Operations
/// begin in the order in which they were posted. After one has failed the queue pair is broken: it flushes the others
/// and all that is posted later, with status shutdown, and RdmaEvent::disconnected follows. What fails because the peer
/// has gone fails with connection_reset.
///
/// Statuses of what fails in the device: io_failed (memory that is not there, not reachable or not permitted, at either
/// end; a message longer than the peer's receive), time_out (the peer never had a receive, for as long as
/// rnr_retry_count says, or did not answer), connection_reset, driver (the device was removed, or its driver failed).
class QueuePair {
 public:
  /// Disconnects. Every operation must have come back.
  virtual ~QueuePair() = default;

  /// What the peer needs for connect(), < 512 bytes: for a queue pair of create_queue_pair().
  virtual std::vector<std::byte> describe() = 0;
  /// To the queue pair that blob describes; operations may be posted when it returns, whether or not the peer has
  /// connected as well. Throws invalid_value, unsupported_version (no such blob), bad_state (it is connected),
  /// connection_aborted (the peer has gone, does not answer, or is connected to another), again (a signal ended the
  /// wait).
  virtual void connect(std::span<const std::byte> blob) = 0;

  // Of an incoming connection, until answered. Throw connection_aborted when the peer has gone, invalid_value for too
  // much private data. Established or failed follows accept().
  virtual void accept(std::span<const std::byte> private_data) = 0;
  virtual void reject() = 0;

  /// again: send_queue_size operations are outstanding. The operation comes back through the RdmaQueue's poll(), never
  /// before post() returns. Without flush it may wait for flush() or for the next one with it.
  virtual Status post(RdmaOperation& operation, bool flush) noexcept = 0;
  /// Ends the connection, if there is one: this end flushes with shutdown and gives no event. The peer hears of it, or
  /// finds out by its next operation where only RDMA-CM tells.
  virtual void disconnect() noexcept = 0;

  void* owner = nullptr;  ///< the engine's
};

/// Where a peer listens. IPv4 is kept in the last four bytes.
struct RdmaAddress {
  RdmaAddressType type = RdmaAddressType::ipv4;
  Gid raw{};
  std::uint16_t port = 0;

  bool operator==(const RdmaAddress&) const = default;
};

/// What happened to a connection. Of connections made by blobs only disconnected is reported.
struct RdmaEvent {
  enum class Kind : std::uint8_t {
    request,       ///< somebody connects to a port: incoming is to be accepted, rejected or destroyed
    established,   ///< of both ends
    failed,        ///< the connection could not be made: status says why
    disconnected,  ///< the peer left, has died or broke the rules, or an operation failed
  };
  Kind kind = Kind::established;
  QueuePair* queue_pair = nullptr;
  std::unique_ptr<QueuePair> incoming;
  RdmaAddress peer;  ///< of request
  /// connection_aborted (rejected), not_found (nobody listens), time_out, connection_reset ...
  Status status = Status::success;
  std::array<std::byte, 256> private_data{};  ///< the peer's, with request and established
  std::size_t private_data_len = 0;
};

/// As RdmaOptions::rnr_retry_count: a message is offered until the peer has a receive.
inline constexpr std::uint8_t rnr_retry_for_ever = 7;

struct RdmaOptions {
  std::uint32_t send_queue_size = 0;  ///< operations outstanding, of each queue pair
  std::uint32_t recv_queue_size = 0;  ///< receives outstanding; 0: there will be none
  std::uint32_t max_send_segments = 1;
  std::uint32_t max_recv_segments = 1;
  std::uint16_t max_num_connections = 1;
  Access permissions{};  ///< RDMA flags: what peers may do here, if the memory allows it, too
  MtuSize mtu = MtuSize::bytes_1024;
  std::uint32_t gid_index = 0;
  std::uint32_t service_level = 0;
  bool grh_enabled = true;
  std::uint8_t rnr_retry_count = rnr_retry_for_ever;
  std::chrono::milliseconds connection_request_timeout{2000};  ///< of connect_to(), until the peer has answered
};

/// What the connections of one context have in common: their completions, the receives, which any of them may fill in
/// the order of their posting, and the way in which they come to be. Destroy the queue pairs first.
class RdmaQueue : public Queue {
 public:
  /// again: recv_queue_size receives are outstanding.
  virtual Status post_receive(RdmaOperation& operation, bool flush) noexcept = 0;

  /// To be connected by blobs. Throws no_memory, operating_system.
  virtual std::unique_ptr<QueuePair> create_queue_pair() = 0;

  // By address (RDMA-CM). Throw not_supported where the device has no connection manager.
  /// Throws already_exist when the port is in use.
  virtual void listen(std::uint16_t port);
  virtual void stop_listening(std::uint16_t port) noexcept;
  /// Established or failed follows. Throws invalid_value for an address that the device cannot reach, or too much
  /// private data.
  virtual std::unique_ptr<QueuePair> connect_to(const RdmaAddress& address, std::span<const std::byte> private_data);
  /// The next one, if there is one. Events of a queue pair come after what it had to complete before them.
  virtual bool next_event(RdmaEvent& event) noexcept = 0;
  /// Pollable: readable while next_event() may give something. -1: fd() and the notifier tell of it.
  virtual int event_fd() const noexcept { return -1; }
};

// ---- Counters ---------------------------------------------------------------------------------------------------

/// Across what a counter was exported.
enum class CounterScope : std::uint8_t { remote_pci, remote_net };

/// A 64-bit counter that several processes may reach. Whoever changes it through one of these wakes those who sleep
/// on it: arm, then look again, before sleeping. load(), store(), fetch_add(), losses_told() and failure() from any
/// thread.
class Counter {
 public:
  virtual ~Counter() = default;

  virtual std::uint64_t load() const noexcept = 0;
  /// The same, then looks for sleepers. bad_state: its owner has withdrawn it. connection_reset: its owner has died.
  virtual Status store(std::uint64_t value) noexcept = 0;
  virtual Status fetch_add(std::uint64_t increment, std::uint64_t& previous) noexcept = 0;

  /// How many importers' deaths somebody was told of, at an owner. A wait notes it as it begins, for failure().
  virtual std::uint32_t losses_told() const noexcept { return 0; }
  /// success while the counter is what its owner and importers share; else what store() would answer. At an owner,
  /// connection_reset when more importers have died than told: every wait that was pending learns of a death, or the
  /// first one after it.
  virtual Status failure(std::uint32_t told) noexcept = 0;
  /// Whether the memory may change without anybody being woken, as memory of the user's may. by_peers: network peers
  /// may signal it, of which not every device tells.
  virtual bool may_change_silently(bool by_peers) const noexcept = 0;

  /// From now on a change makes wake_fd() readable (edge-triggered). What changed before must be looked for afterwards.
  virtual void arm() noexcept = 0;
  virtual int wake_fd() const noexcept = 0;

  /// Describes the counter, in < 512 bytes. Throw not_supported; not for an imported one.
  virtual std::vector<std::byte> export_to_remote_pci() = 0;
  virtual std::vector<std::byte> export_to_remote_net() = 0;
  /// Ends every export. again: a peer's access has not ended.
  virtual Status withdraw() noexcept { return Status::success; }
};

// ---- Messages ---------------------------------------------------------------------------------------------------

struct ChannelOptions {
  std::uint32_t max_msg_size = 0;     ///< bytes
  std::uint32_t recv_queue_size = 0;  ///< messages that may wait at the receiver
};

/// A reliable, ordered stream of messages between a client and a server.
class Channel {
 public:
  virtual ~Channel() = default;

  /// Pollable. Readable: receive() or establish() may advance. Writable: send() may be tried again.
  virtual int fd() const noexcept = 0;
  /// Carries the opening exchange on. again: the peer has not answered. success: messages can flow.
  /// Anything else is final (connection_aborted: refused); refusal() says why.
  virtual Status establish() noexcept = 0;
  virtual std::string_view refusal() const noexcept = 0;
  /// again: wait until fd() is writable. connection_reset: the peer is gone. The message is copied.
  virtual Status send(std::span<const std::byte> message) noexcept = 0;
  /// again: nothing there. connection_reset: the peer is gone and everything it sent was received.
  virtual Status receive(std::span<std::byte> buffer, std::size_t& length) noexcept = 0;
  /// The smaller of both sides' limits, once established.
  virtual std::uint32_t max_msg_size() const noexcept = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual int fd() const noexcept = 0;
  /// The next incoming channel, not yet established, or null. admit: whether there is room for another client; when
  /// not, its establish() refuses the peer with status full.
  virtual std::unique_ptr<Channel> accept(bool admit) noexcept = 0;
};

/// Finds a server that may not be there yet.
class Dialer {
 public:
  virtual ~Dialer() = default;
  /// Readable when attempt() is worth calling again.
  virtual int fd() const noexcept = 0;
  /// A channel to establish, or null while there is no server.
  virtual std::unique_ptr<Channel> attempt() noexcept = 0;
};

// ---- Devices ----------------------------------------------------------------------------------------------------

/// An open function. What a device cannot do throws not_supported, as these defaults do.
class Device {
 public:
  virtual ~Device() = default;

  /// Surprise removal: every operation fails from now on.
  virtual bool removed() const noexcept { return false; }
  /// Notifies from any thread when that happens, until unwatch_removal(). Nothing where queues' descriptors tell of it.
  virtual void watch_removal(Notifier& /*notifier*/) {}
  virtual void unwatch_removal(Notifier& /*notifier*/) noexcept {}
  virtual std::vector<RepresentorProperties> representors(RepFilter filter);
  virtual std::unique_ptr<MemoryRegion> register_memory(const MemoryRange& range, Access access);
  /// Memory that blob, an export of the other side of the PCIe link or of a network peer, describes. Throws
  /// invalid_value, unsupported_version, not_permitted, not_connected (the owner is gone), bad_state (withdrawn),
  /// time_out, again when a signal ended the wait for the owner, and not_supported for exports of a kind that the
  /// device does not import.
  virtual ImportedRegion import_memory(std::span<const std::byte> blob);
  /// rdma-core's struct ibv_pd. Throws not_supported.
  virtual void* protection_domain() const;
  virtual std::unique_ptr<CopyQueue> create_copy_queue(const QueueOptions& options, Notifier& notifier);
  /// In 8 aligned bytes of this process, which keep their value, or in memory of its own, starting at 0. Throws
  /// invalid_value when the memory is not there.
  virtual std::unique_ptr<Counter> create_counter(const MemoryRange* memory);
  /// Throws as import_memory() does.
  virtual std::unique_ptr<Counter> import_counter(std::span<const std::byte> blob, CounterScope scope);
  /// Throws already_exist when the representor has a server of that name.
  virtual std::unique_ptr<Listener> listen(const RepresentorProperties& representor, std::string_view service,
                                           const ChannelOptions& options);
  /// Throws invalid_value for options that the device does not take.
  virtual std::unique_ptr<RdmaQueue> create_rdma_queue(const RdmaOptions& options, Notifier& notifier);
  virtual std::unique_ptr<Dialer> dial(std::string_view service, const ChannelOptions& options);
};

/// A device that was made of an application's protection domain.
struct AdoptedDevice {
  DeviceProperties properties;
  std::unique_ptr<Device> device;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const noexcept = 0;
  /// Why enumerate() finds nothing, and what to do about it; or empty.
  virtual std::string unavailable() const { return {}; }
  virtual std::vector<DeviceProperties> enumerate() = 0;
  /// Throws not_found when the function has gone since enumeration. ordinal < max_open_devices.
  virtual std::unique_ptr<Device> open(const DeviceProperties& properties, std::size_t ordinal) = 0;
  /// Of rdma-core's struct ibv_pd, which outlives the device. Throws not_supported.
  virtual AdoptedDevice adopt(void* protection_domain, std::size_t ordinal);
};

/// The built-in backends, in order of enumeration.
std::span<Backend* const> backends();

}  // namespace pydoca::backend

#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/context.hpp"
#include "pydoca/device.hpp"
#include "pydoca/rdma_tasks.hpp"
#include "pydoca/status.hpp"
#include "pydoca/sync_event.hpp"
#include "pydoca/task.hpp"
#include "pydoca/types.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::library {
class Rdma;
class RdmaConnection;
class RdmaTask;
}  // namespace pydoca::library

#pragma GCC visibility push(default)

namespace pydoca {

class Rdma;
class RdmaConnection;

/// enum doca_rdma_transport_type.
enum class RdmaTransport : std::uint8_t { rc = 0, dc = 1 };

/// How a received message was sent (enum doca_rdma_opcode).
enum class RdmaOpcode : std::uint32_t { recv_send = 0, recv_send_with_imm = 1, recv_write_with_imm = 2 };

/// Where a peer listens (DOCA RDMA Programming Guide: struct doca_rdma_addr). A value.
class RdmaAddress {
 public:
  /// Reads an address from text; a GID is written as an IPv6 address. Throws invalid_value for a number that is not a
  /// type, for a text that is not an address of that type, and for port 0.
  static RdmaAddress create(RdmaAddressType type, std::string_view address, std::uint16_t port);
  /// Unchecked. raw: 16 bytes in network byte order, an IPv4 address in the last four.
  RdmaAddress(RdmaAddressType type, const Gid& raw, std::uint16_t port) noexcept
      : type_(type), raw_(raw), port_(port) {}

  RdmaAddressType type() const noexcept { return type_; }
  /// The address as text.
  std::string address() const;
  const Gid& raw() const noexcept { return raw_; }
  std::uint16_t port() const noexcept { return port_; }
  bool operator==(const RdmaAddress&) const = default;

 private:
  RdmaAddressType type_;
  Gid raw_;
  std::uint16_t port_;
};

/// A task of an Rdma context; its kind says which operands it takes. A setter answers invalid_value when the kind has
/// no such operand, and in_use while the task is submitted.
///
/// | kind | dst or result | src | the peer provides |
/// |---|---|---|---|
/// | receive | dst list or null: the message is appended | | |
/// | send, send_imm | | src list or null | a posted receive |
/// | read | dst list: appended | src, one element: its data | rdma_read, of map and context |
/// | write, write_imm | dst, one element: its tailroom | src list or null | rdma_write; write_imm: and a receive |
/// | atomic_cmp_swp, atomic_fetch_add | result: the old 8 bytes, appended | dst's data: 8 aligned bytes | rdma_atomic |
/// | remote_net_sync_event_get, _notify_add | dst or result: 8 bytes appended | | the event |
/// | remote_net_sync_event_notify_set | | src list: 8 bytes | the event |
///
/// Read and write without src and dst move nothing. Submission answers not_connected once the connection has ended, and
/// again while send_queue_size tasks are in flight on the connection. On success data_len of what was written on this
/// side grows; a remote buf is left as it is.
class RdmaTask : public Task {
 public:
  RdmaTaskKind kind() const noexcept { return kind_; }
  /// The one that it goes over; a receive that succeeded has the one that it came over. Null otherwise.
  const std::shared_ptr<RdmaConnection>& connection() const noexcept { return connection_; }
  // The operands; null or 0 for those that the kind has not.
  Buf* src_buf() const noexcept;
  Buf* dst_buf() const noexcept;
  Buf* result_buf() const noexcept;
  const std::shared_ptr<SyncEventRemoteNet>& sync_event() const noexcept;
  std::uint64_t cmp_data() const noexcept;
  std::uint64_t swap_data() const noexcept;
  std::uint64_t add_data() const noexcept;
  std::uint32_t immediate_data() const noexcept;  ///< big-endian, as DOCA has it

  /// It is also invalid_value for null and for a connection of another context. One that has ended is refused by
  /// submission.
  Status set_connection(const std::shared_ptr<RdmaConnection>& connection) noexcept;
  Status set_src_buf(Buf* src) noexcept;
  Status set_dst_buf(Buf* dst) noexcept;
  Status set_result_buf(Buf* result) noexcept;
  Status set_sync_event(const std::shared_ptr<SyncEventRemoteNet>& event) noexcept;
  Status set_cmp_data(std::uint64_t value) noexcept;
  Status set_swap_data(std::uint64_t value) noexcept;
  Status set_add_data(std::uint64_t value) noexcept;
  Status set_immediate_data(std::uint32_t value) noexcept;

  // These are valid once the task has succeeded: result_len() for receive, read and remote_net_sync_event_get, the
  // others for receive only.
  std::uint64_t result_len() const noexcept;             ///< bytes
  RdmaOpcode result_opcode() const noexcept;             ///< how the peer sent it
  std::uint32_t result_immediate_data() const noexcept;  ///< big-endian; only opcodes with an immediate have it

 protected:
  // library::RdmaTask derives.
  RdmaTask(Rdma& rdma, detail::TaskPool& pool, RdmaTaskKind kind) noexcept;
  ~RdmaTask() override = default;

  const RdmaTaskKind kind_;
  std::shared_ptr<RdmaConnection> connection_;
};

/// One peer of an Rdma context (DOCA RDMA Programming Guide: struct doca_rdma_connection). From
/// Rdma::export_connection(), connect_to_addr() or a request. Its end is reported once every task submitted on it has
/// completed.
///
/// Ownership: context and application share it. A handle that outlives the connection stays valid, and its state is
/// closed. Thread safety: the thread of the context's progress engine.
class RdmaConnection : public std::enable_shared_from_this<RdmaConnection> {
 public:
  enum class State : std::uint8_t {
    exported,     ///< waits for Rdma::connect()
    requested,    ///< waits for accept() or reject()
    connecting,   ///< waits for the peer
    established,  ///< takes tasks
    closing,      ///< has ended; tasks are still to be delivered, then the end is reported
    closed,
  };

  RdmaConnection(const RdmaConnection&) = delete;
  RdmaConnection& operator=(const RdmaConnection&) = delete;

  /// Unique within the context, for its life.
  std::uint32_t id() const noexcept { return id_; }
  State state() const noexcept { return state_; }
  bool is_connected() const noexcept { return state_ == State::established; }
  std::uint64_t user_data() const noexcept { return user_data_; }
  void set_user_data(std::uint64_t data) noexcept { user_data_ = data; }
  /// Null once its end was reported.
  Rdma* rdma() const noexcept { return rdma_; }
  /// The peer's address, of a connection by address. Throws invalid_value for another connection.
  RdmaAddress addr() const;
  /// What the peer's Rdma::connect() takes, < 512 bytes; empty unless made by Rdma::export_connection().
  const std::vector<std::byte>& details() const noexcept;
  /// The bytes that came with the peer's request or its acceptance; empty when there were none.
  const std::vector<std::byte>& private_data() const noexcept;
  /// Why it could not be made or has ended: the status of the task that broke it, say. success while neither, and when
  /// this side ended it by disconnect() or stop().
  Status failure() const noexcept { return failure_; }

  /// Accepts a request (doca_rdma_connection_accept); progress() reports its establishment or failure. private_data
  /// goes to the peer. Throws bad_state unless requested, not_permitted in another thread than the engine's,
  /// invalid_value for too much private data, connection_aborted when the peer has gone or sent nonsense: then the
  /// request is over, and nothing is reported.
  void accept(std::span<const std::byte> private_data = {});
  /// Rejects a request (doca_rdma_connection_reject); the peer's connection fails. Throws bad_state unless requested,
  /// not_permitted in another thread than the engine's.
  void reject();
  /// Ends the connection (doca_rdma_connection_disconnect). The peer's tasks fail, and its disconnection is reported
  /// there; this side's tasks come back with shutdown, then progress() reports the end. A connection that is only
  /// exported ends at once, and nothing is reported. Throws bad_state unless exported, connecting or established,
  /// not_permitted in another thread than the engine's.
  void disconnect();

 protected:
  // library::RdmaConnection derives.
  RdmaConnection(Rdma& rdma, std::uint32_t id, State state) noexcept : rdma_(&rdma), id_(id), state_(state) {}
  ~RdmaConnection() = default;

  Rdma* rdma_;
  const std::uint32_t id_;
  State state_;
  Status failure_ = Status::success;
  std::uint64_t user_data_ = 0;
};

/// Moves data between this process and peers on the network (DOCA RDMA Programming Guide: doca_rdma): messages, and
/// memory that peers have exported with Mmap::export_rdma(). Starts at once; connections come when it runs. See Context
/// for states, threads and ownership.
///
/// A task that fails in the device ends its connection and, unless it is a receive, takes the context to stopping; the
/// other tasks come back with shutdown. A peer that leaves, dies or breaks the rules ends its connection only: tasks on
/// it come back with connection_reset, and the disconnection is reported. Stopping ends when all disconnections were
/// reported.
///
/// A connection by address learns at once that its peer has left or died. A connection made by exchanging details also
/// does in the simulator. A real device does not announce the end of those: the connection learns that its peer is gone
/// only when its next task fails (connection_reset, after the device's retries: some 4 s), its driver reports an error,
/// or the port goes down. The system may take the memory of a process that dies before its connections: a real device
/// then fails tasks that reach into it with io_failed, as for memory withdrawn.
///
/// io_failed: memory that is not there or not permitted, at either end, a message longer than the receive that takes
/// it. time_out: the peer never had a receive (set_rnr_retry_count), or did not answer. connection_reset: the peer is
/// gone. driver: the device was removed (Device::removed), or its driver reported a fatal error.
class Rdma : public Context {
 public:
  static constexpr std::chrono::milliseconds default_connection_request_timeout{2000};
  static constexpr std::uint8_t retry_for_ever = 7;

  // Called by progress(); they may make and end connections, submit tasks and stop the context.
  using ConnectionRequested = Callback<void(RdmaConnection& connection, std::uint64_t context_user_data)>;
  using ConnectionChanged =
      Callback<void(RdmaConnection& connection, std::uint64_t connection_user_data, std::uint64_t context_user_data)>;

  /// An idle context on device (doca_rdma_create). Throws invalid_value for null, bad_state when the device is closed,
  /// not_supported, with the reason, when it has no RDMA.
  static std::shared_ptr<Rdma> create(std::shared_ptr<Device> device);

  // Capabilities of a device; throw not_supported when it has no RDMA.
  static bool is_supported(const DeviceInfo& info) noexcept;
  static bool is_task_supported(const DeviceInfo& info, RdmaTaskKind kind) noexcept;
  static bool is_transport_type_supported(const DeviceInfo& info, RdmaTransport transport) noexcept;
  /// Whether it can listen, and connect to addresses.
  static bool is_connection_manager_supported(const DeviceInfo& info) noexcept;
  static std::uint32_t max_send_queue_size(const DeviceInfo& info);    ///< tasks
  static std::uint32_t max_recv_queue_size(const DeviceInfo& info);    ///< tasks
  static std::uint32_t max_send_buf_list_len(const DeviceInfo& info);  ///< elements
  /// The limit in elements. Throws not_supported also for a transport that the device lacks.
  static std::uint32_t max_receive_dst_buf_list_len(const DeviceInfo& info, RdmaTransport transport);
  static std::uint32_t max_message_size(const DeviceInfo& info);  ///< bytes
  static std::uint16_t max_num_connections(const DeviceInfo& info);
  static std::uint32_t gid_table_size(const DeviceInfo& info);  ///< entries; at least 1
  /// count entries from start on, 0 where none is set; throws invalid_value beyond the table.
  static std::vector<Gid> gids(const DeviceInfo& info, std::uint32_t start, std::uint32_t count);

  // Configuration, repeatable. Throws bad_state unless idle, not_supported above a capability of the device,
  // invalid_value for 0 where the least is 1 and for a number that is not in the stated range.
  /// The callbacks, which may be the same function, and the number of tasks of a kind (doca_rdma_task_<kind>_set_conf),
  /// in 1..max_recv_queue_size(info) for receives, 1..max_send_queue_size(info) for others. Throws not_supported for a
  /// kind that the device lacks, invalid_value for another number and for a null callback.
  void set_conf(RdmaTaskKind kind, TaskCallback<RdmaTask> on_success, TaskCallback<RdmaTask> on_error,
                std::uint32_t num_tasks);
  /// request may be null for a context that does not listen. Each of the others may be null: that change is not
  /// reported.
  void set_connection_state_callbacks(ConnectionRequested request, ConnectionChanged established,
                                      ConnectionChanged failed, ConnectionChanged disconnected);
  /// Tasks, except receives, that may be submitted at once on a connection; rounded up to a power of 2. The default is
  /// the number of configured tasks.
  void set_send_queue_size(std::uint32_t size);
  /// Always not_supported, as DOCA says: on a CPU it follows from the number of receive tasks.
  void set_recv_queue_size(std::uint32_t size);
  void set_max_send_buf_list_len(std::uint32_t elements);     ///< default 1
  void set_receive_dst_buf_list_len(std::uint32_t elements);  ///< default 1
  void set_transport_type(RdmaTransport transport);           ///< default rc
  void set_mtu(MtuSize mtu);                                  ///< default 1024 bytes
  void set_permissions(Access permissions);                   ///< RDMA flags and local_read_write; default none
  void set_grh_enabled(bool enabled);                         ///< Ethernet needs it (not_supported); default true
  void set_gid_index(std::uint32_t index);                    ///< default: what reaches most peers
  void set_sl(std::uint32_t service_level);                   ///< 0..15; default 0
  /// How long connect_to_addr(), and accept() on a device of verbs, wait for the peer.
  void set_connection_request_timeout(std::uint16_t milliseconds);
  void set_max_num_connections(std::uint32_t count);  ///< default 1
  /// How often a message is offered to a peer without a posted receive: 0..7, and 7, the default, is for ever.
  void set_rnr_retry_count(std::uint32_t count);

  // What is set; sizes are those in effect once started.
  std::uint32_t num_tasks(RdmaTaskKind kind) const noexcept;
  std::uint32_t send_queue_size() const noexcept;
  std::uint32_t recv_queue_size() const noexcept;
  std::uint32_t max_send_buf_list_len() const noexcept;
  std::uint32_t receive_dst_buf_list_len() const noexcept;
  RdmaTransport transport_type() const noexcept { return RdmaTransport::rc; }
  MtuSize mtu() const noexcept;
  Access permissions() const noexcept;
  bool grh_enabled() const noexcept;
  std::uint32_t gid_index() const noexcept;
  std::uint32_t sl() const noexcept;
  std::uint16_t connection_request_timeout() const noexcept;  ///< milliseconds
  std::uint16_t max_num_connections() const noexcept;
  std::uint8_t rnr_retry_count() const noexcept;

  // Connections. Throws bad_state unless running, not_permitted in another thread than the engine's.
  /// A connection that is made by exchanging details() with the peer's, by any means (doca_rdma_export). Throws full
  /// when there are max_num_connections().
  std::shared_ptr<RdmaConnection> export_connection();
  /// Connects an exported connection with the peer whose details() these are (doca_rdma_connect). It takes tasks at
  /// once; progress() also reports the establishment. Throws invalid_value for damaged details and for a connection
  /// that is closed or of another context, unsupported_version for details of another version of pydoca, bad_state
  /// unless connection is exported, connection_aborted when the peer is gone or connected to another, again when an
  /// interrupt ended the wait for it. It waits for the peer, up to PendingImport::default_limit for one that does not
  /// run; RdmaConnect does not.
  void connect(std::span<const std::byte> details, RdmaConnection& connection);
  /// Listens on the device's address (doca_rdma_start_listen_to_port). progress() reports requests; when there are
  /// max_num_connections() they are rejected. A real device does not announce that a requester has gone: its request
  /// stays, and counts, until it is answered. Throws not_supported for a device without connection manager,
  /// bad_state when the context listens to the port already, connection_aborted when another one does, invalid_value
  /// for port 0 or without a request callback.
  void start_listen_to_port(std::uint16_t port);
  /// Ends that; connections stay. Throws invalid_value when the context does not listen to the port.
  void stop_listen_to_port(std::uint16_t port);
  /// Requests a connection of the peer that listens there (doca_rdma_connect_to_addr); progress() reports its
  /// establishment or failure. private_data goes to the peer. Throws connection_aborted when there are
  /// max_num_connections(), not_supported for a device without connection manager, invalid_value for an address that
  /// the device cannot use and for too much private data.
  std::shared_ptr<RdmaConnection> connect_to_addr(const RdmaAddress& address, std::uint64_t connection_user_data = 0,
                                                  std::span<const std::byte> private_data = {});
  /// All but those closed, the oldest first.
  const std::vector<std::shared_ptr<RdmaConnection>>& connections() const noexcept;

  // Each takes a task, which is not yet submitted (doca_rdma_task_<kind>_allocate_init). For the bufs, which setters
  // may set later, see RdmaTask. immediate_data is big-endian. bad_state unless running, invalid_value for another
  // context's connection, not_connected for one that is not established, no_memory when all tasks of the kind are taken
  // or none are configured; task is then unchanged.
  Status receive(Buf* dst, std::uint64_t user_data, RdmaTask*& task) noexcept;
  Status send(RdmaConnection& connection, Buf* src, std::uint64_t user_data, RdmaTask*& task) noexcept;
  Status send_imm(RdmaConnection& connection, Buf* src, std::uint32_t immediate_data, std::uint64_t user_data,
                  RdmaTask*& task) noexcept;
  Status read(RdmaConnection& connection, Buf* src, Buf* dst, std::uint64_t user_data, RdmaTask*& task) noexcept;
  Status write(RdmaConnection& connection, Buf* src, Buf* dst, std::uint64_t user_data, RdmaTask*& task) noexcept;
  Status write_imm(RdmaConnection& connection, Buf* src, Buf* dst, std::uint32_t immediate_data,
                   std::uint64_t user_data, RdmaTask*& task) noexcept;
  Status atomic_cmp_swp(RdmaConnection& connection, Buf* dst, Buf* result, std::uint64_t cmp_data,
                        std::uint64_t swap_data, std::uint64_t user_data, RdmaTask*& task) noexcept;
  Status atomic_fetch_add(RdmaConnection& connection, Buf* dst, Buf* result, std::uint64_t add_data,
                          std::uint64_t user_data, RdmaTask*& task) noexcept;
  Status remote_net_sync_event_get(RdmaConnection& connection, const std::shared_ptr<SyncEventRemoteNet>& event,
                                   Buf* dst, std::uint64_t user_data, RdmaTask*& task) noexcept;
  Status remote_net_sync_event_notify_set(RdmaConnection& connection, const std::shared_ptr<SyncEventRemoteNet>& event,
                                          Buf* src, std::uint64_t user_data, RdmaTask*& task) noexcept;
  Status remote_net_sync_event_notify_add(RdmaConnection& connection, const std::shared_ptr<SyncEventRemoteNet>& event,
                                          Buf* result, std::uint64_t add_data, std::uint64_t user_data,
                                          RdmaTask*& task) noexcept;

  std::string_view kind() const noexcept override { return "rdma"; }

 protected:
  using Context::Context;  // detail::LibraryContext derives
};

}  // namespace pydoca

#pragma GCC visibility pop

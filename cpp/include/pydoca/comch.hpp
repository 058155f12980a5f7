#pragma once

#include "pydoca/context.hpp"
#include "pydoca/device.hpp"
#include "pydoca/status.hpp"
#include "pydoca/task.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::comch::library {
class Client;
class Connection;
class ConnectionOwner;
class SendTask;
class Server;
}  // namespace pydoca::comch::library

#pragma GCC visibility push(default)

/// Messages between a server on the DPU and clients on the host: reliable, in order per connection (DOCA Comch
/// Programming Guide, control path: doca_comch).
namespace pydoca::comch {

class Connection;
class Endpoint;
class Server;
class Client;

/// What a connection counts (enum doca_comch_connection_counter): messages, and their bytes.
enum class Counter : std::uint32_t { sent_messages = 1, sent_bytes = 2, recv_messages = 3, recv_bytes = 4 };

/// Called by progress() for each message, of 0..max_msg_size() bytes, which are valid during the call only. A byte that
/// is 0 follows them, so that text ends. The memory is the context's own, and is not const: the callback may write to
/// it. It may send, pause, disconnect and stop.
using MessageReceived =
    Callback<void(Connection& connection, std::span<const std::byte> message, std::uint64_t context_user_data)>;
/// Called by progress() for a client that has connected or disconnected. successful is false for a client that was
/// refused. It may do what MessageReceived may.
using ConnectionChanged = Callback<void(Connection& connection, bool successful, std::uint64_t context_user_data)>;

/// Sends one message (doca_comch_task_send). It stays submitted while the peer's queue is full, and completes when the
/// message is on its way, not when it is received. See Task for states, threads and ownership.
///
/// Failures: connection_reset (the peer is gone, or the connection had ended), shutdown (this side disconnected or
/// stopped). These are failures of this task alone. driver (the device was removed) takes the context to stopping.
class SendTask : public Task {
 public:
  /// Where it goes; null once freed.
  const std::shared_ptr<Connection>& connection() const noexcept { return connection_; }
  /// The caller's bytes, which a submission sends or copies: they may change, and be freed, as soon as it has returned.
  std::span<const std::byte> message() const noexcept { return message_; }
  /// Sets the message of another submission. in_use while submitted, invalid_value above the connection's
  /// max_msg_size().
  Status set_message(std::span<const std::byte> message) noexcept;

 protected:
  // library::SendTask derives.
  using Task::Task;
  ~SendTask() override = default;

  std::shared_ptr<Connection> connection_;
  std::span<const std::byte> message_;
};

/// One client of a server, or a client's link to its server (struct doca_comch_connection). Its end is reported once
/// every task submitted on it has completed. Context and application share it: a handle that outlives the connection
/// stays valid, and is not connected. Belongs to the thread of its context's progress engine.
///
/// Flow control is by not reading: messages arrive one per progress() until pause(), and then wait at the sender: in
/// its socket's buffer, which takes recv_queue_size messages of max_msg_size and more of shorter ones, and after that
/// in its tasks, which do not complete before resume(). A receiver with a bounded inbox pauses when the inbox is full.
/// While paused, the end of a peer that left messages is not reported.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Any 64 bits; 0 at first.
  std::uint64_t user_data() const noexcept { return user_data_; }
  void set_user_data(std::uint64_t data) noexcept { user_data_ = data; }
  /// Whether messages can be sent: from its establishment to the end that this side or the peer causes.
  bool is_connected() const noexcept;
  /// The context that this is a connection of; null once its end was reported.
  Endpoint* endpoint() const noexcept { return endpoint_; }
  Server* server() const noexcept;  ///< null for a client's connection
  Client* client() const noexcept;  ///< null for a server's connection
  /// The smaller of both sides' limits; bytes. 0 before it is connected.
  std::uint32_t max_msg_size() const noexcept { return max_msg_size_; }

  /// Takes a snapshot of the counters (doca_comch_connection_update_info), also after the end. Throws
  /// connection_inprogress before it is connected, connection_aborted when that failed.
  void update_info();
  /// The value that the last update_info() read; 0 before the first. Throws invalid_value for a number that is not a
  /// counter.
  std::uint64_t counter(Counter counter) const;

  /// Pauses the endpoint: no message is received, and none delivered, until resume(). Does nothing when it is paused
  /// already. DOCA has no such calls.
  void pause() noexcept;
  void resume() noexcept;  ///< does nothing unless paused
  bool is_paused() const noexcept { return paused_; }

 protected:
  // library::Connection derives.
  explicit Connection(Endpoint& endpoint) noexcept : endpoint_(&endpoint) {}
  ~Connection() = default;

  Endpoint* endpoint_;
  std::uint64_t user_data_ = 0;
  std::uint32_t max_msg_size_ = 0;
  bool paused_ = false;
};

/// The part that Server and Client share. Mandatory before start(): set_send_conf() and set_message_received(). See
/// Context for states, threads and ownership.
class Endpoint : public Context {
 public:
  static constexpr std::uint32_t default_recv_queue_size = 64;

  // Capabilities of a device; throw not_supported when it has no comch.
  static std::uint32_t max_name_len(const DeviceInfo& info);         ///< including the terminating NUL
  static std::uint32_t max_msg_size(const DeviceInfo& info);         ///< bytes
  static std::uint32_t max_recv_queue_size(const DeviceInfo& info);  ///< messages
  static std::uint32_t max_clients(const DeviceInfo& info);          ///< the limit of one server
  static std::uint32_t max_send_tasks(const DeviceInfo& info);       ///< the limit of one context

  // Configuration, repeatable. Throws bad_state unless idle, invalid_value for null and for a number out of range.
  /// The callbacks, which may be the same function, and the number of tasks, in 1..max_send_tasks(info)
  /// (doca_comch_server_task_send_set_conf, doca_comch_client_task_send_set_conf).
  void set_send_conf(TaskCallback<SendTask> on_success, TaskCallback<SendTask> on_error, std::uint32_t num_tasks);
  void set_message_received(MessageReceived callback);
  void set_max_msg_size(std::uint32_t bytes);  ///< 1..max_msg_size(info), which is the default
  /// Messages that may wait here before the sender has to, in 1..max_recv_queue_size(info); the smaller of
  /// default_recv_queue_size and that by default. See Connection.
  void set_recv_queue_size(std::uint32_t messages);

  const std::string& name() const noexcept;
  std::uint32_t num_send_tasks() const noexcept;   ///< what set_send_conf() set; 0 before
  std::uint32_t max_msg_size() const noexcept;     ///< bytes
  std::uint32_t recv_queue_size() const noexcept;  ///< messages

  /// Takes a task, which is not yet submitted (doca_comch_server_task_send_alloc_init,
  /// doca_comch_client_task_send_alloc_init). The submission copies the message, so the caller keeps its bytes until
  /// then. bad_state unless running, not_connected when the connection is not connected, invalid_value for a message
  /// above its max_msg_size() and for a connection of another context, no_memory when all tasks are taken; task is then
  /// unchanged.
  Status send(Connection& connection, std::span<const std::byte> message, std::uint64_t user_data,
              SendTask*& task) noexcept;

 protected:
  using Context::Context;

  library::ConnectionOwner* own_ = nullptr;  ///< this object, as its connections see it: never null once made
};

/// Serves clients, up to max_clients(), on the function of a representor (doca_comch_server). Starts at once. stop()
/// disconnects every client; stopping ends when all disconnections were reported. A client that leaves, dies or breaks
/// the protocol ends its own connection only.
class Server : public Endpoint {
 public:
  /// An idle server (doca_comch_server_create). name has 1..max_name_len(info)-1 bytes and no NUL. The representor is
  /// in use until the server is closed or destroyed. Throws not_supported when the device cannot be a server,
  /// invalid_value for null, for another name and for a representor of another device, bad_state when device or
  /// representor is closed.
  static std::shared_ptr<Server> create(std::shared_ptr<Device> device, std::shared_ptr<Representor> representor,
                                        std::string_view name);
  static bool is_supported(const DeviceInfo& info) noexcept;

  /// Mandatory before start(); the two may be the same function. Throws bad_state unless idle, invalid_value for null.
  void set_connection_changed(ConnectionChanged connected, ConnectionChanged disconnected);

  /// Ends one connection (doca_comch_server_disconnect): its tasks come back with shutdown, then progress() reports the
  /// disconnection. Throws bad_state unless running, not_permitted in another thread than the engine's, not_connected
  /// when the connection is not connected, invalid_value for one of another context.
  void disconnect(Connection& connection);
  /// Those that are connected, the oldest first.
  std::vector<std::shared_ptr<Connection>> connections() const;

  const std::shared_ptr<Representor>& representor() const noexcept;
  std::string_view kind() const noexcept override { return "comch.server"; }

 protected:
  using Endpoint::Endpoint;
};

/// A link to the server of a name, on the representor of device's function (doca_comch_client). start() answers
/// in_progress: the client looks for the server for as long as it takes, or until its timeout, and runs when it is
/// connected. After a second it logs (info) that it waits. A server that refuses, disconnects or dies takes the client
/// to stopping, and to idle when its tasks are back; failure() says why: full (too many clients), time_out (no
/// connection in time), connection_reset (the server is gone) and others. The client can be started again.
class Client : public Endpoint {
 public:
  /// An idle client (doca_comch_client_create). name: see Server::create(). Throws not_supported when the device cannot
  /// be a client, invalid_value for null and for another name, bad_state when the device is closed.
  static std::shared_ptr<Client> create(std::shared_ptr<Device> device, std::string_view name);
  static bool is_supported(const DeviceInfo& info) noexcept;

  /// The time from start() to the connection; zero, the default, for no limit. Throws bad_state unless idle,
  /// invalid_value for a negative time.
  void set_timeout(std::chrono::milliseconds timeout);
  std::chrono::milliseconds timeout() const noexcept;
  /// The link. Throws bad_state unless running.
  const std::shared_ptr<Connection>& connection() const;
  /// The reason that the server gave when it refused this client in its last run, at most 255 bytes; empty when it did
  /// not.
  const std::string& refusal() const noexcept;

  std::string_view kind() const noexcept override { return "comch.client"; }

 protected:
  using Endpoint::Endpoint;
};

}  // namespace pydoca::comch

#pragma GCC visibility pop

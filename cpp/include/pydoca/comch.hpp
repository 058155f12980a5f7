#pragma once

#include "pydoca/context.hpp"
#include "pydoca/device.hpp"
#include "pydoca/representor.hpp"
#include "pydoca/status.hpp"
#include "pydoca/task.hpp"

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

/// Messages between a server on the DPU and clients on the host: reliable, in order per connection
/// (DOCA Comch, control path: doca_comch).
namespace pydoca::comch {

class Connection;
class Endpoint;
class Server;
class Client;

/// enum doca_comch_connection_counter.
enum class Counter : std::uint32_t { sent_messages = 1, sent_bytes = 2, recv_messages = 3, recv_bytes = 4 };

/// message is valid during the call only.
using MessageReceived = void (*)(Connection& connection, std::span<const std::byte> message,
                                 std::uint64_t context_user_data);
/// successful is false for a client that was refused.
using ConnectionChanged = void (*)(Connection& connection, bool successful, std::uint64_t context_user_data);

/// Sends one message. Stays submitted while the peer's queue is full; completes when the message is on its way, not
/// when it is received. A failure is this task's only: connection_reset when the peer is gone, shutdown when this side
/// disconnected or stopped. A device that was removed fails it with driver, which stops the context.
class SendTask : public Task {
 public:
  const std::shared_ptr<Connection>& connection() const noexcept { return connection_; }
  /// The caller's bytes, which stay unchanged from submission to completion.
  std::span<const std::byte> message() const noexcept { return message_; }
  /// For another submission. in_use while submitted, invalid_value when it is too long.
  Status set_message(std::span<const std::byte> message) noexcept;

 private:
  friend class library::SendTask;
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

  std::uint64_t user_data() const noexcept { return user_data_; }
  void set_user_data(std::uint64_t data) noexcept { user_data_ = data; }
  /// Whether messages can be sent.
  bool is_connected() const noexcept;
  /// The context that this is a connection of; null once its end was reported.
  Endpoint* endpoint() const noexcept { return endpoint_; }
  Server* server() const noexcept;  ///< null for a client's connection
  Client* client() const noexcept;  ///< null for a server's connection
  /// The smaller of both sides' limits; bytes. 0 before it is connected.
  std::uint32_t max_msg_size() const noexcept { return max_msg_size_; }

  /// Takes a snapshot of the counters. Throws connection_inprogress before it is connected, connection_aborted when
  /// that failed.
  void update_info();
  /// As of the last update_info(). Throws invalid_value for another counter.
  std::uint64_t counter(Counter counter) const;

  /// No message is received, and none delivered, until resume(). Does nothing when it is paused already.
  void pause() noexcept;
  void resume() noexcept;
  bool is_paused() const noexcept { return paused_; }

 private:
  friend class library::Connection;
  explicit Connection(Endpoint& endpoint) noexcept : endpoint_(&endpoint) {}
  ~Connection() = default;

  Endpoint* endpoint_;
  std::uint64_t user_data_ = 0;
  std::uint32_t max_msg_size_ = 0;
  bool paused_ = false;
};

/// The part that Server and Client share. Before start: set_send_conf() and set_message_received(). Belongs to its
/// progress engine's thread.
class Endpoint : public Context {
 public:
  static constexpr std::uint32_t default_recv_queue_size = 64;

  // Capabilities of a device; throw not_supported when it has no comch.
  static std::uint32_t max_name_len(const DeviceInfo& info);  ///< including the terminating NUL
  static std::uint32_t max_msg_size(const DeviceInfo& info);  ///< bytes
  static std::uint32_t max_recv_queue_size(const DeviceInfo& info);
  static std::uint32_t max_clients(const DeviceInfo& info);
  static std::uint32_t max_send_tasks(const DeviceInfo& info);

  // Configuration; bad_state unless idle, invalid_value for what is out of range.
  /// doca_comch_*_task_send_set_conf; repeatable. num_tasks in 1..max_send_tasks.
  void set_send_conf(Task::Callback on_success, Task::Callback on_error, std::uint32_t num_tasks);
  void set_message_received(MessageReceived callback);
  void set_max_msg_size(std::uint32_t bytes);  ///< in 1..max_msg_size(info), which is the default
  /// Messages that may wait here before the sender has to; in 1..max_recv_queue_size. See Connection.
  void set_recv_queue_size(std::uint32_t messages);

  const std::string& name() const noexcept;
  std::uint32_t max_msg_size() const noexcept;     ///< bytes
  std::uint32_t recv_queue_size() const noexcept;  ///< messages

  /// A task, not yet submitted (doca_comch_*_task_send_alloc_init). bad_state unless running, no_memory when all tasks
  /// are out, invalid_value for a message above the connection's max_msg_size or a connection of another context,
  /// not_connected when the connection has ended. message stays the caller's: see SendTask.
  [[nodiscard]] Status send(Connection& connection, std::span<const std::byte> message, std::uint64_t user_data,
                            SendTask*& task) noexcept;

 protected:
  using Context::Context;

 private:
  friend class library::ConnectionOwner;
  library::ConnectionOwner* own_ = nullptr;  ///< this object, as its connections see it: never null once made
};

/// Serves any number of clients, up to max_clients, on the function that a representor stands for. Starts at once.
/// stop() disconnects every client; stopping ends when all disconnections were reported.
class Server : public Endpoint {
 public:
  /// Throws not_supported when the device cannot be a server, invalid_value for an impossible name, or when representor
  /// is not device's, bad_state when it is closed. It stays in use until the server is closed or destroyed.
  static std::shared_ptr<Server> create(std::shared_ptr<Device> device, std::shared_ptr<Representor> representor,
                                        std::string_view name);
  static bool is_supported(const DeviceInfo& info) noexcept;

  /// Mandatory; bad_state unless idle.
  void set_connection_changed(ConnectionChanged connected, ConnectionChanged disconnected);

  /// Ends one connection; its disconnection is reported by progress. Throws bad_state unless running, invalid_value for
  /// a connection of another context, not_connected when it has ended.
  void disconnect(Connection& connection);
  /// Those that are connected.
  std::vector<std::shared_ptr<Connection>> connections() const;

  const std::shared_ptr<Representor>& representor() const noexcept;
  std::string_view kind() const noexcept override { return "comch.server"; }

 protected:
  using Endpoint::Endpoint;
};

/// Looks for the server of that name on the representor of device's function, for as long as it takes; then it runs.
/// start() answers in_progress. A server that refuses, disconnects or dies takes it to idle by itself, via stopping;
/// failure() says why: full (too many clients), connection_reset (gone) ...
class Client : public Endpoint {
 public:
  /// Throws not_supported when the device cannot be a client, invalid_value for an impossible name.
  static std::shared_ptr<Client> create(std::shared_ptr<Device> device, std::string_view name);
  static bool is_supported(const DeviceInfo& info) noexcept;

  /// Throws bad_state unless running.
  const std::shared_ptr<Connection>& connection() const;
  /// The reason that the server gave when it last refused this client; empty when it did not.
  const std::string& refusal() const noexcept;

  std::string_view kind() const noexcept override { return "comch.client"; }

 protected:
  using Endpoint::Endpoint;
};

}  // namespace pydoca::comch

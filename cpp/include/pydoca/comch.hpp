#pragma once

#include "pydoca/backend.hpp"
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
/// successful is false for a client that knocked and was not let in.
using ConnectionChanged = void (*)(Connection& connection, bool successful, std::uint64_t context_user_data);

/// Sends one message. Waits, submitted, while the peer's queue is full; completes when the message is on its way, not
/// when it is received. A failure is this task's only: connection_reset when the peer is gone, shutdown when this side
/// disconnected or stopped. But driver, for a device that was removed, stops the context.
class SendTask final : public Task {
 public:
  std::string explain(Status status) const override;
  const std::shared_ptr<Connection>& connection() const noexcept { return connection_; }
  /// The caller's bytes, which stay unchanged from submission to completion.
  std::span<const std::byte> message() const noexcept { return message_; }
  /// For another submission. in_use while submitted, invalid_value when it is too long.
  Status set_message(std::span<const std::byte> message) noexcept;

 private:
  friend class Connection;
  friend class Endpoint;
  friend class SendQueue;
  friend class detail::TaskPool;
  SendTask(Endpoint& endpoint, detail::TaskPool& pool, std::size_t kind) noexcept;
  ~SendTask() override = default;

  Endpoint& endpoint() const noexcept;
  detail::Limit check(detail::Violation* why) const noexcept override;
  Status post(bool flush) noexcept override;
  void finish(Status status) noexcept override;
  void reset() noexcept override { connection_.reset(); }

  std::shared_ptr<Connection> connection_;
  std::span<const std::byte> message_;
  Status outcome_ = Status::success;
  bool counted_ = false;  ///< The connection waits for this task before it reports its end.
  SendTask* next_ = nullptr;
};

/// Send tasks in order, linked through themselves.
class SendQueue {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  SendTask* front() const noexcept { return head_; }
  void push(SendTask& task) noexcept;
  SendTask* pop() noexcept;  ///< null when empty
  void clear() noexcept { head_ = tail_ = nullptr; }

 private:
  SendTask* head_ = nullptr;
  SendTask* tail_ = nullptr;
};

/// One client of a server, or a client's link to its server (struct doca_comch_connection). Its end is reported once
/// every task submitted on it has completed. A handle that outlives the connection is harmless.
///
/// Flow control is by not reading: messages arrive one per progress() until pause(), and then wait at the sender: in
/// its socket's buffer, which takes recv_queue_size messages of max_msg_size and more of shorter ones, and after that
/// in its tasks, which do not complete before resume(). A receiver with a bounded inbox pauses when the inbox is full.
/// While paused, the end of a peer that left messages is not reported.
class Connection final : public std::enable_shared_from_this<Connection>, private detail::ReadyNode {
 public:
  ~Connection() override;

  std::uint64_t user_data() const noexcept { return user_data_; }
  void set_user_data(std::uint64_t data) noexcept { user_data_ = data; }
  /// Whether messages can be sent.
  bool is_connected() const noexcept { return phase_ == Phase::connected; }
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

  void pause() noexcept;
  void resume() noexcept;
  bool is_paused() const noexcept { return paused_; }

 private:
  friend class Endpoint;
  friend class Server;
  friend class Client;
  friend class SendTask;

  enum class Phase : std::uint8_t {
    establishing,
    connected,
    closing,  ///< The channel is gone; tasks are still to be delivered, then the end.
    closed,
    failed,  ///< was never connected
  };
  struct Counters {
    std::uint64_t sent_messages = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t recv_messages = 0;
    std::uint64_t recv_bytes = 0;
  };

  Connection(Endpoint& endpoint, std::unique_ptr<backend::Channel> channel);
  /// Joins the engine. Throws operating_system.
  void open();
  /// To closing; tasks that wait complete with status.
  void begin_close(Status status) noexcept;
  /// Releases everything, reporting nothing.
  void end(Phase phase) noexcept;

  bool progress_one(bool& more) noexcept override;
  bool establish(bool& more) noexcept;
  bool receive_one() noexcept;
  void send_waiting() noexcept;
  bool report_closed() noexcept;
  void send(SendTask& task) noexcept;
  Status try_send(const SendTask& task) noexcept;
  void task_done() noexcept;
  void watch_for(std::uint32_t events) noexcept;
  void update_watch() noexcept;
  void unwatch() noexcept;
  void unwatch_dead_peer() noexcept;

  Endpoint* endpoint_;
  std::unique_ptr<backend::Channel> channel_;
  SendQueue waiting_;
  std::size_t outstanding_ = 0;
  Counters live_;
  Counters snapshot_;
  std::uint64_t user_data_ = 0;
  std::uint32_t max_msg_size_ = 0;
  std::uint32_t watched_events_ = 0;
  Phase phase_ = Phase::establishing;
  bool watched_ = false;
  bool paused_ = false;
};

/// What Server and Client have in common. Before start: set_send_conf() and set_message_received().
class Endpoint : public Context {
 public:
  static constexpr std::uint32_t default_recv_queue_size = 64;

  ~Endpoint() override;

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

  const std::string& name() const noexcept { return name_; }
  std::uint32_t max_msg_size() const noexcept { return options_.max_msg_size; }
  std::uint32_t recv_queue_size() const noexcept { return options_.recv_queue_size; }

  /// A task, not yet submitted (doca_comch_*_task_send_alloc_init). bad_state unless running, no_memory when all tasks
  /// are out, invalid_value for a message above the connection's max_msg_size or a connection of another context,
  /// not_connected when the connection has ended. message stays the caller's: see SendTask.
  [[nodiscard]] Status send(Connection& connection, std::span<const std::byte> message, std::uint64_t user_data,
                            SendTask*& task) noexcept;

 protected:
  Endpoint(std::shared_ptr<Device> device, std::string_view name);

  const backend::ChannelOptions& channel_options() const noexcept { return options_; }
  /// Mandatory settings, pool and buffer. Throws invalid_value.
  void begin_common();
  void end_common() noexcept;
  bool poll_one(bool& more) noexcept final;
  bool stop_if_removed() noexcept;
  virtual bool poll_peers(bool& more) noexcept = 0;

  /// Null, with a message in the log, when it cannot be had.
  std::shared_ptr<Connection> connect(std::unique_ptr<backend::Channel> channel) noexcept;

  // What a connection tells; the last three are its last words, in its own progress.
  virtual void established(Connection& connection) noexcept = 0;
  /// The peer is gone or has broken the rules; begin_close() is due.
  virtual void lost(Connection& connection, Status status) noexcept = 0;
  virtual void unestablished(Connection& connection, Status status, std::string_view why) noexcept = 0;
  virtual void closed(Connection& connection) noexcept = 0;

 private:
  friend class Connection;
  friend class SendTask;

  /// Will be delivered by progress.
  void done(SendTask& task, Status status) noexcept;

  std::string name_;
  backend::ChannelOptions options_;
  MessageReceived message_received_ = nullptr;
  std::unique_ptr<std::byte[]> buffer_;  ///< max_msg_size bytes
  SendQueue done_;
};

/// Serves any number of clients, up to max_clients, on the function that a representor stands for. Starts at once.
/// stop() disconnects everybody; stopping ends when all disconnections were reported.
class Server final : public Endpoint {
 public:
  /// Throws not_supported when the device cannot be a server, invalid_value for an impossible name, or when representor
  /// is not device's, bad_state when it is closed. It stays in use until the server is closed or destroyed.
  static std::shared_ptr<Server> create(std::shared_ptr<Device> device, std::shared_ptr<Representor> representor,
                                        std::string_view name);
  ~Server() override;
  static bool is_supported(const DeviceInfo& info) noexcept;

  /// Mandatory; bad_state unless idle.
  void set_connection_changed(ConnectionChanged connected, ConnectionChanged disconnected);

  /// Ends one connection; its disconnection is reported by progress. Throws bad_state unless running, invalid_value for
  /// a connection of another context, not_connected when it has ended.
  void disconnect(Connection& connection);
  /// Those that are connected.
  std::vector<std::shared_ptr<Connection>> connections() const;

  const std::shared_ptr<Representor>& representor() const noexcept { return representor_; }
  std::string_view kind() const noexcept override { return "comch.server"; }

 private:
  Server(std::shared_ptr<Device> device, std::shared_ptr<Representor> representor, std::string_view name);

  Status begin() override;
  void quiesce() noexcept override;
  bool quiesced() const noexcept override { return connections_.empty(); }
  void end() noexcept override;
  void release() noexcept override;
  bool poll_peers(bool& more) noexcept override;
  void established(Connection& connection) noexcept override;
  void lost(Connection& connection, Status status) noexcept override;
  void unestablished(Connection& connection, Status status, std::string_view why) noexcept override;
  void closed(Connection& connection) noexcept override;

  void stop_listening() noexcept;
  void erase(Connection& connection) noexcept;

  std::shared_ptr<Representor> representor_;
  bool uses_representor_ = false;
  ConnectionChanged connected_ = nullptr;
  ConnectionChanged disconnected_ = nullptr;
  std::unique_ptr<backend::Listener> listener_;
  std::vector<std::shared_ptr<Connection>> connections_;
};

/// Looks for the server of that name on the representor of device's function, for as long as it takes; then it runs.
/// start() answers in_progress. A server that refuses, disconnects or dies takes it to idle by itself, via stopping;
/// failure() says why: full (too many clients), connection_reset (gone) ...
class Client final : public Endpoint {
 public:
  /// Throws not_supported when the device cannot be a client, invalid_value for an impossible name.
  static std::shared_ptr<Client> create(std::shared_ptr<Device> device, std::string_view name);
  ~Client() override;
  static bool is_supported(const DeviceInfo& info) noexcept;

  /// Throws bad_state unless running.
  const std::shared_ptr<Connection>& connection() const;
  /// What the server said when it last refused this client; empty when it did not.
  const std::string& refusal() const noexcept { return refusal_; }

  std::string_view kind() const noexcept override { return "comch.client"; }

 private:
  Client(std::shared_ptr<Device> device, std::string_view name);

  Status begin() override;
  void quiesce() noexcept override;
  bool quiesced() const noexcept override { return connection_ == nullptr; }
  void end() noexcept override;
  bool poll_peers(bool& more) noexcept override;
  void established(Connection& connection) noexcept override;
  void lost(Connection& connection, Status status) noexcept override;
  void unestablished(Connection& connection, Status status, std::string_view why) noexcept override;
  void closed(Connection& connection) noexcept override;

  void watch_dialer() noexcept;
  void unwatch_dialer() noexcept;

  std::unique_ptr<backend::Dialer> dialer_;
  bool dialer_watched_ = false;
  std::shared_ptr<Connection> connection_;
  std::string refusal_;
};

}  // namespace pydoca::comch

#pragma once

#include "pydoca/backend/channel.hpp"
#include "pydoca/comch.hpp"

#include "core/violation.hpp"
#include "detail/intrusive_list.hpp"
#include "detail/ready_node.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace pydoca::comch::library {

class SendTask final : public comch::SendTask {
 public:
  SendTask(comch::Endpoint& endpoint, detail::TaskPool& pool, std::size_t kind) noexcept;

  std::string explain(Status status) const override;
  bool breaks_limit(detail::Violation* why) const noexcept override;
  Status post(bool flush) noexcept override;
  void finish(Status status) noexcept override;
  void forget() noexcept override { connection_.reset(); }
  std::uint64_t size_in_flight() const noexcept override { return message_.size(); }
  /// Copies the message, which has to wait, to the task's own place.
  void keep(ConnectionOwner& owner) noexcept;
  std::span<const std::byte> kept() const noexcept { return {place_, message_.size()}; }

  using comch::SendTask::connection_;
  using comch::SendTask::message_;
  Status outcome_ = Status::success;
  std::uint32_t failed_by_ = 0;  ///< the rule of a fault plan, from 1, or 0
  bool counted_ = false;         ///< the connection waits for this task before it reports its end
  SendTask* next_ = nullptr;

 private:
  std::byte* place_ = nullptr;  ///< a message's room, the same one for the run; null until a message has waited
};

inline SendTask& of(comch::SendTask& task) noexcept { return static_cast<SendTask&>(task); }

using SendQueue = detail::IntrusiveQueue<SendTask, &SendTask::next_>;

/// Decides after each message whether to try for another one at once. A try costs a system call, and is in vain where
/// messages come one by one. Without a try the connection's descriptor tells of the next message, which costs a system
/// call, too. Each try in vain leaves out more of the next ones.
class Burst {
 public:
  /// Whether to try for another message, after one that came.
  bool goes_on() noexcept {
    is_trying_ = left_out_ == pause_;
    left_out_ = is_trying_ ? 0 : left_out_ + 1;
    return is_trying_;
  }
  /// The outcome of trying to receive.
  void note(bool found) noexcept {
    if (std::exchange(is_trying_, false)) {
      pause_ = found ? 0 : std::min(2 * pause_ + 1, longest_pause);
    }
  }

 private:
  static constexpr unsigned longest_pause = 15;

  unsigned pause_ = 0;  ///< how many messages pass between two tries
  unsigned left_out_ = 0;
  bool is_trying_ = false;
};

class Connection final : private detail::ReadyNode, public comch::Connection {
 public:
  enum class Phase : std::uint8_t {
    establishing,
    connected,
    closing,  ///< the channel is gone; tasks are still to be delivered, then the end
    closed,
    failed,  ///< was never connected
  };
  struct Counters {
    std::uint64_t sent_messages = 0;
    std::uint64_t sent_bytes = 0;
    std::uint64_t recv_messages = 0;
    std::uint64_t recv_bytes = 0;
  };

  Connection(ConnectionOwner& owner, std::unique_ptr<backend::Channel> channel);
  ~Connection() override;
  /// Makes one that has joined its engine. Null, with a message in the log, when it cannot be had.
  static std::shared_ptr<Connection> create(ConnectionOwner& owner, std::unique_ptr<backend::Channel> channel) noexcept;

  /// Takes the connection to closing; tasks that wait complete with status.
  void begin_close(Status status) noexcept;
  /// Tells the log what happened to the connection; not after end().
  void log(std::string_view what) const noexcept;
  /// Releases everything, reporting nothing.
  void end(Phase phase) noexcept;
  /// again: the channel's queue is full.
  Status send(SendTask& task) noexcept;
  void task_done() noexcept;
  void set_paused(bool paused) noexcept;
  /// Whether its place becomes free as the engine progresses: it ends, or its peer has left.
  bool is_ending() const noexcept;

  Phase phase_ = Phase::establishing;
  Counters live_;
  Counters snapshot_;

 private:
  /// Joins the engine. Throws operating_system.
  void open();
  bool progress_one(bool& more) noexcept override;
  bool may_advance_elsewhere(Cpus here) noexcept override {
    return channel_ != nullptr && channel_->may_advance_elsewhere(here);
  }
  bool establish(bool& more) noexcept;
  bool receive_one(bool& more) noexcept;
  void send_waiting() noexcept;
  bool report_closed() noexcept;
  Status try_send(SendTask& task, std::span<const std::byte> message) noexcept;
  Status wait_for_turn(SendTask& task) noexcept;
  void record(TraceEventKind kind, std::uint64_t time, std::uint64_t number, std::uint64_t bytes) const noexcept;
  void update_watch() noexcept;
  void unwatch() noexcept;
  void unwatch_dead_peer() noexcept;

  ConnectionOwner* owner_;    ///< null once its end was reported
  ConnectionOwner& made_by_;  ///< the same, for tasks: they keep the context
  std::unique_ptr<backend::Channel> channel_;
  SendQueue waiting_;
  Burst burst_;
  std::size_t outstanding_ = 0;  ///< tasks in flight
  std::uint32_t watched_events_ = 0;
  bool watched_ = false;
};

inline Connection& of(comch::Connection& connection) noexcept { return static_cast<Connection&>(connection); }
inline const Connection& of(const comch::Connection& connection) noexcept {
  return static_cast<const Connection&>(connection);
}

}  // namespace pydoca::comch::library

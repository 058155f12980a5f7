#pragma once

#include "pydoca/backend/channel.hpp"
#include "pydoca/backend/notifier.hpp"
#include "pydoca/comch.hpp"

#include "core/task_pool.hpp"
#include "library/comch/comch_connection.hpp"
#include "library/library_context.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace pydoca::comch::library {

/// What a server and a client have in common: their settings, and what their connections report to them.
class ConnectionOwner {
 public:
  /// Throws not_supported and invalid_value, as create() does.
  ConnectionOwner(comch::Endpoint& endpoint, backend::Notifier& notifier, std::string_view name);
  ConnectionOwner(const ConnectionOwner&) = delete;
  ConnectionOwner& operator=(const ConnectionOwner&) = delete;
  static ConnectionOwner& owner_of(const comch::Endpoint& endpoint) noexcept { return *endpoint.own_; }

  // The last three are a connection's last report, in its own progress.
  virtual void established(Connection& connection) noexcept = 0;
  /// The peer is gone or has broken the rules; begin_close() is due.
  virtual void lost(Connection& connection, Status status) noexcept = 0;
  virtual void unestablished(Connection& connection, Status status, std::string_view why) noexcept = 0;
  virtual void closed(Connection& connection) noexcept = 0;

  /// The task will be delivered by progress.
  void done(SendTask& task, Status status) noexcept {
    task.outcome_ = status;
    done_.push(task);
    notifier_.notify();
  }

  comch::Endpoint& endpoint_;
  std::string name_;
  backend::ChannelOptions options_;
  MessageReceived message_received_ = nullptr;
  std::unique_ptr<std::byte[]> buffer_;  ///< max_msg_size bytes

 protected:
  ~ConnectionOwner() = default;
  /// Mandatory settings. Throws invalid_value.
  void require_settings(bool has_tasks) const;
  /// Null, with a message in the log, when it cannot be had.
  std::shared_ptr<Connection> connect(std::unique_ptr<backend::Channel> channel) noexcept;

  SendQueue done_;

 private:
  backend::Notifier& notifier_;
};

/// Noun is Server or Client.
template <class Noun>
class EndpointContext : public detail::LibraryContext<Noun>, public ConnectionOwner {
 protected:
  EndpointContext(std::shared_ptr<Device> device, std::string_view name)
      : detail::LibraryContext<Noun>(std::move(device), std::size_t{1}), ConnectionOwner(*this, *this, name) {}

  void begin_common() {
    require_settings(this->template open_pools<SendTask>(endpoint_) != 0);
    buffer_ = std::make_unique<std::byte[]>(options_.max_msg_size);
  }
  void end_common() noexcept {
    done_.clear();
    this->close_pools();
    buffer_.reset();
  }
  virtual bool poll_peers(bool& more) noexcept = 0;

 private:
  bool poll_one(bool& more) noexcept final {
    SendTask* const task = done_.pop();
    if (task == nullptr) {
      return stop_if_removed() || poll_peers(more);
    }
    more = true;
    this->complete(*task, task->outcome_, task->outcome_ == Status::driver);
    return true;
  }
  /// A program that only waits for messages learns of the removal, too.
  bool stop_if_removed() noexcept {
    const bool live = this->state() == ContextState::running || this->state() == ContextState::starting;
    if (!this->device()->removed() || !live) [[likely]] {
      return false;
    }
    this->fail(Status::driver);
    return true;
  }
};

}  // namespace pydoca::comch::library

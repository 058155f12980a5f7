#pragma once

#include "pydoca/backend/channel.hpp"
#include "pydoca/comch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pydoca::comch::library {

/// What a connection uses of its server or client: the settings, and what it reports.
class ConnectionOwner {
 public:
  /// Throws not_supported and invalid_value, as create() does.
  ConnectionOwner(comch::Endpoint& endpoint, std::string_view name);
  ConnectionOwner(const ConnectionOwner&) = delete;
  ConnectionOwner& operator=(const ConnectionOwner&) = delete;

  // The last three are a connection's last report, in its own progress.
  virtual void established(Connection& connection) noexcept = 0;
  /// The peer is gone or has broken the rules; begin_close() is due.
  virtual void lost(Connection& connection, Status status) noexcept = 0;
  virtual void unestablished(Connection& connection, Status status, std::string_view why) noexcept = 0;
  virtual void closed(Connection& connection) noexcept = 0;
  /// The task will be delivered by progress.
  virtual void done(SendTask& task, Status status) noexcept = 0;

  comch::Endpoint& endpoint_;
  std::string name_;
  backend::ChannelOptions options_;
  MessageReceived message_received_ = nullptr;
  std::unique_ptr<std::byte[]> buffer_;  ///< a message's bytes, and one more
  /// Room for a message, which is a task's until the end of the run. At most num_send_tasks() calls may be made.
  std::byte* take_place() noexcept {
    std::byte* const place = next_place_;
    next_place_ += options_.max_msg_size;
    return place;
  }

 protected:
  ~ConnectionOwner() = default;
  /// Mandatory settings. Throws invalid_value.
  void require_settings(bool has_tasks) const;
  /// What a run needs of memory.
  void open_messages(std::uint32_t num_tasks);
  void close_messages() noexcept;

 private:
  std::unique_ptr<std::byte[]> places_;
  std::byte* next_place_ = nullptr;
};

}  // namespace pydoca::comch::library

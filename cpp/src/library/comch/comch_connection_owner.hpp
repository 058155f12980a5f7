#pragma once

#include "pydoca/backend/channel.hpp"
#include "pydoca/comch.hpp"

#include <cstddef>
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
  std::unique_ptr<std::byte[]> buffer_;  ///< max_msg_size bytes

 protected:
  ~ConnectionOwner() = default;
  /// Mandatory settings. Throws invalid_value.
  void require_settings(bool has_tasks) const;
};

}  // namespace pydoca::comch::library

#pragma once

#include "detail/time/timer.hpp"
#include "library/comch/comch_endpoint.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pydoca::comch::library {

class Client final : public EndpointContext<comch::Client> {
 public:
  Client(std::shared_ptr<Device> device, std::string_view name);
  ~Client() override;

  std::shared_ptr<comch::Connection> connection_;
  std::string refusal_;
  std::chrono::milliseconds timeout_{0};  ///< zero: no limit

 private:
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

  /// Makes the timer that ends the wait for a server, and says before that that there is one. Throws.
  void begin_waiting();
  void end_waiting() noexcept;
  /// Whether the time is up, which fails the context. Rearms the timer.
  bool has_waited_too_long() noexcept;

  std::unique_ptr<backend::Dialer> dialer_;
  bool dialer_watched_ = false;
  std::unique_ptr<detail::Timer> timer_;  ///< runs from start() to the connection
  std::uint64_t due_ = 0;                 ///< a time of detail::now()
  std::uint64_t deadline_ = 0;
  bool told_ = false;  ///< whether the log was told that it waits
  std::string where_;  ///< where it looks, for messages
};

inline const Client& of(const comch::Client& client) noexcept { return static_cast<const Client&>(client); }

}  // namespace pydoca::comch::library

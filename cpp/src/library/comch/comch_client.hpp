#pragma once

#include "library/comch/comch_endpoint.hpp"

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

  std::unique_ptr<backend::Dialer> dialer_;
  bool dialer_watched_ = false;
};

inline const Client& of(const comch::Client& client) noexcept { return static_cast<const Client&>(client); }

}  // namespace pydoca::comch::library

#pragma once

#include "library/comch/comch_endpoint.hpp"

#include <memory>
#include <string_view>
#include <vector>

namespace pydoca::comch::library {

class Server final : public EndpointContext<comch::Server> {
 public:
  Server(std::shared_ptr<Device> device, std::shared_ptr<Representor> representor, std::string_view name);
  ~Server() override;

  const std::shared_ptr<Representor> representor_;
  ConnectionChanged connected_ = nullptr;
  ConnectionChanged disconnected_ = nullptr;
  std::vector<std::shared_ptr<Connection>> connections_;

 private:
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
  void silence() noexcept override;

  void stop_listening() noexcept;
  void erase(Connection& connection) noexcept;

  bool uses_representor_ = false;
  std::unique_ptr<backend::Listener> listener_;
};

inline Server& of(comch::Server& server) noexcept { return static_cast<Server&>(server); }
inline const Server& of(const comch::Server& server) noexcept { return static_cast<const Server&>(server); }

}  // namespace pydoca::comch::library

#pragma once

#include "pydoca/backend/channel.hpp"

#include "backend/sim/message/hello.hpp"
#include "detail/fd.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pydoca::sim {

/// Serves service on a representor, to clients on the function with that PCI address. Nothing is left when the process
/// dies. Throws already_exist when the representor has a server of that name, invalid_value for an impossible name or
/// limit.
std::unique_ptr<backend::Listener> listen(std::string_view fabric, std::string_view representor_pci_addr,
                                          std::string_view service, const backend::ChannelOptions& options);
/// Looks for the server of service on the representor of the function with that PCI address. Same exceptions, except
/// already_exist.
std::unique_ptr<backend::Dialer> dial(std::string_view fabric, std::string_view function_pci_addr,
                                      std::string_view service, const backend::ChannelOptions& options);

/// What both sides must agree on, and the limits of this side.
struct ChannelIdentity {
  std::string fabric;
  std::string pci_addr;
  std::string service;
  backend::ChannelOptions options;

  Hello hello() const noexcept { return {options, fabric, pci_addr, service}; }
};

/// Throws invalid_value when it does not fit a hello.
ChannelIdentity channel_identity(std::string_view fabric, std::string_view pci_addr, std::string_view service,
                                 const backend::ChannelOptions& options);
/// Purpose of a channel's address in the fabric, and its key.
inline constexpr std::string_view channel_purpose = "comch";
std::string channel_key(const ChannelIdentity& identity);

/// A channel over a connected socket; the kernel's socket buffer holds the messages that wait. Its size is the peer's
/// queue size times the size of the longest message, so more of shorter ones may wait, and less where
/// net.core.wmem_max is small. The identity outlives the opening exchange.
class SocketChannel final : public backend::Channel {
 public:
  enum class Role : std::uint8_t {
    client,       ///< waits for an answer; its hello was sent
    server,       ///< waits for a hello and answers it
    turned_away,  ///< a server that is full: refuses without reading the hello
  };

  SocketChannel(detail::Fd socket, Role role, std::shared_ptr<const ChannelIdentity> identity) noexcept;
  /// A channel that could not be made; establish() gives this status.
  SocketChannel(Status status, std::string_view reason);
  ~SocketChannel() override;

  int fd() const noexcept override { return socket_.get(); }
  Status establish() noexcept override;
  std::string_view refusal() const noexcept override { return refusal_; }
  Status send(std::span<const std::byte> message) noexcept override;
  Status receive(std::span<std::byte> buffer, std::size_t& length) noexcept override;
  /// The peer says with each message where it runs.
  bool may_advance_elsewhere(Cpus here) noexcept override {
    own_cpus_ = here;
    return peer_cpus_.may_run_beside(here);
  }
  std::uint32_t max_msg_size() const noexcept override { return max_msg_size_; }
  std::uint64_t id() const noexcept override { return id_; }

 private:
  static constexpr std::uint32_t sends_between_questions = 64;

  Status open();
  Status take_answer();
  Status take_hello();
  Status answer(Status status, std::string_view reason);
  Status admit();
  Status refused(Status status, std::string_view reason);
  [[gnu::cold, gnu::noinline]] void say_where_again() noexcept;
  void agree(const backend::ChannelOptions& peer) noexcept;

  detail::Fd socket_;
  Role role_;
  Status opened_ = Status::again;
  std::uint32_t max_msg_size_ = 0;
  std::uint64_t id_ = 0;
  std::uint32_t forks_;
  Cpus own_cpus_;
  Cpus peer_cpus_;
  std::uint32_t sends_until_question_ = 1;
  std::shared_ptr<const ChannelIdentity> identity_;
  std::string refusal_;
};

}  // namespace pydoca::sim

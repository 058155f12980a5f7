#include "pydoca/log.hpp"

#include "backend/sim/comch/channel.hpp"
#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/fabric/lobby.hpp"
#include "backend/sim/message/frame.hpp"
#include "detail/concat.hpp"
#include "detail/thread/crash_point.hpp"

#include <new>
#include <utility>

namespace pydoca::sim {
namespace {

using detail::concat;
using detail::Fd;

class SocketListener final : public backend::Listener {
 public:
  SocketListener(ListeningSocket socket, std::shared_ptr<const ChannelIdentity> identity)
      : identity_(std::move(identity)), lobby_("comch", [this](int peer, Status why) { turn_away(peer, why); }) {
    lobby_.add(std::move(socket));
  }

  int fd() const noexcept override { return lobby_.fd(); }
  std::unique_ptr<backend::Channel> accept(bool admit) noexcept override;

 private:
  void turn_away(int peer, Status why) noexcept;
  void announce_room() noexcept;

  std::shared_ptr<const ChannelIdentity> identity_;
  Lobby lobby_;
};

std::unique_ptr<backend::Channel> SocketListener::accept(bool admit) noexcept {
  Fd peer = lobby_.next();
  announce_room();
  if (!peer) {
    return nullptr;
  }
  detail::crash_point();
  const int number = peer.get();
  const auto role = admit ? SocketChannel::Role::server : SocketChannel::Role::turned_away;
  std::unique_ptr<backend::Channel> channel(new (std::nothrow) SocketChannel(std::move(peer), role, identity_));
  if (channel == nullptr) {
    lobby_.dismiss(number, Status::no_memory);
  }
  return channel;
}

void SocketListener::turn_away(int peer, Status why) noexcept {
  HelloFrame frame;
  static_cast<void>(
      send_frame(peer, FrameType::answer, encode(Answer{why, identity_->options, turned_away_reason(why)}, frame)));
}

/// Clients that found the backlog full wait for the next announcement.
void SocketListener::announce_room() noexcept {
  try {
    if (lobby_.take_overflow()) {
      FabricDirectory(identity_->fabric).announce();
    }
  } catch (const std::exception& error) {
    log::engine(log::Level::error, "comch", error.what());
  }
}

}  // namespace

std::unique_ptr<backend::Listener> listen(std::string_view fabric, std::string_view representor_pci_addr,
                                          std::string_view service, const backend::ChannelOptions& options) {
  auto identity =
      std::make_shared<const ChannelIdentity>(channel_identity(fabric, representor_pci_addr, service, options));
  const auto failure = [&](const Error& error) {
    return Error(error.status(), concat("serve \"", service, "\" on representor ", representor_pci_addr,
                                        " of fabric \"", fabric, "\": ", std::string_view(error.what())));
  };
  try {
    const Address address = fabric_address(identity->fabric, channel_purpose, channel_key(*identity));
    ListeningSocket socket = listen_at(address, Lobby::backlog);
    detail::crash_point();
    address.directory.announce();
    return std::make_unique<SocketListener>(std::move(socket), std::move(identity));
  } catch (const Error& error) {
    throw error.status() == Status::already_exist
        ? failure(Error(error.status(), "it has a server of that name; stop that one, or choose another name"))
        : failure(error);
  }
}

}  // namespace pydoca::sim

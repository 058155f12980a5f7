#include "pydoca/log.hpp"

#include "backend/sim/comch/channel.hpp"
#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/fabric/frame.hpp"
#include "detail/concat.hpp"

#include <fcntl.h>
#include <new>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace pydoca::sim {
namespace {

using detail::concat;
using detail::Fd;

constexpr std::uint32_t max_waiting_clients = 128;

class SocketListener final : public backend::Listener {
 public:
  SocketListener(Fd socket, std::shared_ptr<const ChannelIdentity> identity) noexcept
      : socket_(std::move(socket)), identity_(std::move(identity)) {
    keep_reserve();
  }

  int fd() const noexcept override { return socket_.get(); }
  std::unique_ptr<backend::Channel> accept(bool admit) noexcept override;

 private:
  void keep_reserve() noexcept { reserve_ = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
  void refuse_for_lack_of_descriptors() noexcept;
  void drained() noexcept;

  Fd socket_;
  std::shared_ptr<const ChannelIdentity> identity_;
  Fd reserve_;                  ///< closed to accept, and refuse, one client when the process has no other descriptor
  std::uint32_t accepted_ = 0;  ///< since the backlog was last seen empty
};

std::unique_ptr<backend::Channel> SocketListener::accept(bool admit) noexcept {
  Status status = Status::success;
  Fd peer = accept_peer(socket_.get(), status);
  if (status == Status::again) {
    drained();
  } else if (status == Status::full) {
    refuse_for_lack_of_descriptors();
  } else if (status == Status::not_permitted) {
    log::engine(log::Level::warning, "comch", "a process of another user tried to connect and was turned away");
  }
  if (!peer) {
    return nullptr;
  }
  ++accepted_;
  const auto role = admit ? SocketChannel::Role::server : SocketChannel::Role::turned_away;
  return std::unique_ptr<backend::Channel>(new (std::nothrow) SocketChannel(std::move(peer), role, identity_));
}

/// Without this the client would stay in the backlog, and the listener would stay readable.
void SocketListener::refuse_for_lack_of_descriptors() noexcept {
  constexpr std::string_view reason = "the server's process is out of file descriptors; raise its limit (ulimit -n)";
  log::engine(log::Level::error, "comch", reason);
  reserve_.reset();
  Status status = Status::success;
  Fd peer = accept_peer(socket_.get(), status);
  if (peer) {
    HelloFrame frame;
    static_cast<void>(
        send_frame(peer.get(), FrameType::answer, encode(Answer{Status::full, identity_->options, reason}, frame)));
  }
  peer.reset();
  keep_reserve();
}

/// Clients that found the backlog full wait for the next announcement.
void SocketListener::drained() noexcept {
  const bool overflowed = std::exchange(accepted_, 0) >= max_waiting_clients;
  try {
    if (overflowed) {
      announce(identity_->fabric);
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
    Fd socket =
        listen_at(fabric_address(identity->fabric, channel_purpose, channel_key(*identity)), max_waiting_clients);
    announce(identity->fabric);
    return std::make_unique<SocketListener>(std::move(socket), std::move(identity));
  } catch (const Error& error) {
    throw error.status() == Status::already_exist
        ? failure(Error(error.status(), "it has a server of that name; stop that one, or choose another name"))
        : failure(error);
  }
}

}  // namespace pydoca::sim

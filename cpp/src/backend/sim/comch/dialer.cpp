#include "backend/sim/comch/channel.hpp"
#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/message/frame.hpp"
#include "detail/concat.hpp"
#include "detail/system_reason.hpp"
#include "detail/thread/crash_point.hpp"
#include "detail/thread/thread_token.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <sys/inotify.h>
#include <unistd.h>

namespace pydoca::sim {
namespace {

using detail::concat;
using detail::Fd;

/// Watches the fabric's directory, which each new server touches, and the directory above it, in which the fabric's may
/// be made anew. The watches are set, or their events are read, before the address is tried: a server that starts after
/// the try makes a new event.
class SocketDialer final : public backend::Dialer {
 public:
  explicit SocketDialer(ChannelIdentity identity)
      : identity_(std::make_shared<const ChannelIdentity>(std::move(identity))),
        address_(fabric_address(identity_->fabric, channel_purpose, channel_key(*identity_))) {}

  ~SocketDialer() override { leave(); }

  int fd() const noexcept override { return inotify_.get(); }
  std::unique_ptr<backend::Channel> attempt() noexcept override;
  std::string where() const override {
    return concat("in ", address_.directory.path(), "; a server in another container, of another user or with another ",
                  "XDG_RUNTIME_DIR is in another directory: set PYDOCA_FABRIC_DIR to the same one on both sides");
  }

 private:
  std::unique_ptr<backend::Channel> refusal(Status status, std::string_view why) noexcept;
  std::unique_ptr<backend::Channel> try_or_watch();
  std::unique_ptr<backend::Channel> try_address();
  void watch();
  bool watch_one(const std::string& path, std::uint32_t events) const;
  void read_events() noexcept;
  void leave() noexcept;

  std::shared_ptr<const ChannelIdentity> identity_;
  Address address_;
  Fd inotify_;
  bool watching_ = false;
  std::uint32_t forks_ = detail::fork_count();
  std::unique_ptr<SocketChannel> out_of_memory_ = std::make_unique<SocketChannel>(Status::no_memory, "");
};

std::unique_ptr<backend::Channel> SocketDialer::attempt() noexcept {
  try {
    return try_or_watch();
  } catch (const Error& error) {
    return refusal(error.status(), error.what());
  } catch (const std::exception&) {
    return std::move(out_of_memory_);
  }
}

std::unique_ptr<backend::Channel> SocketDialer::refusal(Status status, std::string_view why) noexcept {
  try {
    return std::make_unique<SocketChannel>(status, why);
  } catch (const std::exception&) {
    return std::move(out_of_memory_);
  }
}

std::unique_ptr<backend::Channel> SocketDialer::try_or_watch() {
  read_events();
  auto channel = try_address();
  if (channel != nullptr || watching_) {
    return channel;
  }
  watch();
  return try_address();
}

std::unique_ptr<backend::Channel> SocketDialer::try_address() {
  Status status = Status::success;
  Fd socket = connect_to(address_, status);
  if (status == Status::operating_system) {
    throw Error(status, concat("connect to \"", identity_->service, "\": ", detail::system_reason(errno)));
  }
  if (status == Status::not_permitted) {
    address_.directory.open();  // says why
    throw Error(status, concat("connect to \"", identity_->service, "\": a process of another user serves it"));
  }
  if (!socket) {
    return nullptr;
  }
  detail::crash_point();
  HelloFrame frame;
  status = send_frame(socket.get(), FrameType::hello, encode(identity_->hello(), frame));
  if (status != Status::success && status != Status::connection_reset) {  // the end of the socket tells of a reset
    throw Error(status, concat("connect to \"", identity_->service, "\": cannot send the first message"));
  }
  detail::crash_point();
  return std::make_unique<SocketChannel>(std::move(socket), SocketChannel::Role::client, identity_);
}

void SocketDialer::watch() {
  if (!inotify_) {
    inotify_ = Fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  }
  constexpr int attempts = 100;  // the directory may be removed while it is empty
  for (int i = 0; i < attempts && !watching_; ++i) {
    address_.directory.open().reset();
    watching_ = watch_one(address_.directory.parent(), IN_CREATE | IN_MOVED_TO) &&
                watch_one(address_.directory.path(), IN_ATTRIB | IN_DONT_FOLLOW);
  }
  if (!watching_) {
    throw Error(Status::operating_system,
                concat("wait for \"", identity_->service, "\": ", address_.directory.path(), " is always removed"));
  }
}

/// False when it is not there.
bool SocketDialer::watch_one(const std::string& path, std::uint32_t events) const {
  constexpr std::uint32_t always = IN_MOVE_SELF | IN_ONLYDIR;
  if (inotify_ && ::inotify_add_watch(inotify_.get(), path.c_str(), events | always) >= 0) {
    return true;
  }
  const int error = errno;
  if (inotify_ && error == ENOENT) {
    return false;
  }
  throw Error(Status::operating_system,
              concat("wait for \"", identity_->service, "\": inotify: ", std::string_view(std::strerror(error)),
                     "; raise fs.inotify.max_user_instances or start the server first"));
}

void SocketDialer::read_events() noexcept {
  alignas(inotify_event) std::array<char, 4096> buffer;
  ssize_t size = 0;
  while (inotify_ && (size = ::read(inotify_.get(), buffer.data(), buffer.size())) > 0) {
    for (const char* at = buffer.data(); at < buffer.data() + size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      // A directory was removed, renamed or made: watch the ones that have their names now.
      watching_ = watching_ && (event->mask & (IN_IGNORED | IN_MOVE_SELF | IN_CREATE | IN_MOVED_TO)) == 0;
      at += sizeof *event + event->len;
    }
  }
}

/// A directory that was made for the watch.
void SocketDialer::leave() noexcept {
  if (inotify_ && forks_ == detail::fork_count()) {
    sim::leave(address_.directory);
  }
}

}  // namespace

std::unique_ptr<backend::Dialer> dial(std::string_view fabric, std::string_view function_pci_addr,
                                      std::string_view service, const backend::ChannelOptions& options) {
  return std::make_unique<SocketDialer>(channel_identity(fabric, function_pci_addr, service, options));
}

}  // namespace pydoca::sim

#pragma once

#include "pydoca/status.hpp"

#include "detail/fd.hpp"
#include "detail/wait_limit.hpp"

#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

/// How processes of one simulated fabric find one another: by abstract socket addresses, which vanish with the process
/// that is bound to them, and by a private directory without files, whose modification announces a new server.
namespace pydoca::sim {

/// $XDG_RUNTIME_DIR/pydoca/<fabric> when that variable names a directory of this user, else /tmp/pydoca-<uid>/<fabric>.
std::string fabric_path(std::string_view fabric);

/// The fabric's directory, opened; created if need be. Each level below the base is a real directory of this user with
/// mode 0700. Throws not_permitted when another user could have made it or can read it, operating_system
/// otherwise.
detail::Fd open_fabric(std::string_view fabric);

/// Announces a new server to the processes that watch the directory (inotify, IN_ATTRIB). Throws as open_fabric()
/// does.
void announce(std::string_view fabric);

/// An abstract address, the same in every process of this user for the same fabric, purpose and key, of any
/// lengths. purpose shows in /proc/net/unix: at most 32 characters.
struct Address {
  sockaddr_un name{};
  socklen_t length = 0;

  const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&name); }
};
Address fabric_address(std::string_view fabric, std::string_view purpose, std::string_view key);

// Sockets are SOCK_SEQPACKET, non-blocking and closed on exec.

/// Throws already_exist when the address is taken, not_permitted when another user's process has it, operating_system
/// otherwise.
detail::Fd listen_at(const Address& address, int backlog);
/// The next connection. status: success; again: there is none; not_permitted: another user's process was turned away;
/// full: this process is out of descriptors; operating_system otherwise. Empty unless success.
detail::Fd accept_peer(int listener, Status& status) noexcept;
/// Connects without waiting. status: success; not_found: no socket listens; again: the listener's backlog is full;
/// not_permitted: another user's process listens; operating_system otherwise, such as no descriptors. Empty unless
/// success.
detail::Fd connect_to(const Address& address, Status& status) noexcept;
/// For requests that block for a bounded time: waits while the listener's backlog is full. time_out; again: the limit's
/// signal; else as connect_to(). The socket's own sends and receives block for a slice (interrupt_slice) at most.
detail::Fd connect_within(const Address& address, detail::WaitLimit& limit, Status& status) noexcept;

/// Whether the process at the other end ran as this user when it connected or listened.
bool peer_allowed(int fd) noexcept;
/// That process's id; 0 when unknown.
pid_t peer_pid(int fd) noexcept;

}  // namespace pydoca::sim

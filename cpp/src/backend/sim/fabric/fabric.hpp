#pragma once

#include "pydoca/status.hpp"

#include "backend/sim/fabric/directory.hpp"
#include "backend/sim/fabric/socket_file.hpp"
#include "detail/fd.hpp"

#include <string_view>
#include <sys/types.h>

/// The sockets of a simulated fabric.
namespace pydoca::sim {

/// The same in every process of this user for the same directory, purpose and key, of any lengths. The file's name
/// begins with the purpose, of which 32 characters count. Throws as FabricDirectory does, and operating_system for a
/// long path where /proc is not mounted.
Address fabric_address(std::string_view fabric, std::string_view purpose, std::string_view key);

// Sockets are SOCK_SEQPACKET, non-blocking and closed on exec.

struct ListeningSocket {
  detail::Fd fd;
  SocketFile file;  ///< removed first
};

/// Takes the place of a socket that a dead process has left. Throws already_exist when the address is taken, time_out
/// and again as FabricLock does, not_permitted and operating_system otherwise.
ListeningSocket listen_at(const Address& address, int backlog);
/// The same for an address that no process had before, whose key is random. Waits for no lock.
ListeningSocket listen_at_new(const Address& address, int backlog);
/// The next connection. status: success; again: there is none; not_permitted: another user's process was turned away;
/// full: this process is out of descriptors; operating_system otherwise. Empty unless success.
detail::Fd accept_peer(int listener, Status& status) noexcept;
/// Connects without waiting. status: success; not_found: no socket listens; again: the listener's backlog is full;
/// not_permitted: another user's process listens, or keeps this one out; operating_system otherwise, such as no
/// descriptors: errno says why. Empty unless success.
detail::Fd connect_to(const Address& address, Status& status) noexcept;

/// Whether the process at the other end ran as this user when it connected or listened.
bool peer_allowed(int fd) noexcept;
/// That process's id; 0 when unknown: it runs in another PID namespace.
pid_t peer_pid(int fd) noexcept;

}  // namespace pydoca::sim

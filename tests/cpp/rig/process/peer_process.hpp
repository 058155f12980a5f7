#pragma once

#include "detail/fd.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pydoca {

/// A message between a test and its peer; payload is any bytes.
struct PeerMessage {
  char op = 0;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::string payload;
};

/// Blocks, for 30 s at most; throws std::runtime_error then, and when the other end has gone.
void send_message_to(int socket, const PeerMessage& message);
PeerMessage receive_message_from(int socket);

/// The test's own program as another process: it runs the disabled test called filter, which gets its end of the
/// connection from peer_socket(). The end of the test kills a peer that was not asked to quit.
class PeerProcess {
 public:
  explicit PeerProcess(const std::string& filter);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  /// Sends, and waits for the answer.
  PeerMessage ask(const PeerMessage& message);
  pid_t pid() const noexcept { return pid_; }
  /// SIGKILL; returns without waiting for the process to be gone.
  void kill() noexcept;
  /// Asks it to quit (op 'q'); the exit status as waitpid() gives it. A peer whose sanitizer finds a leak fails.
  int quit();

 private:
  int wait() noexcept;

  detail::Fd socket_;
  pid_t pid_ = 0;
};

/// The peer's end of the connection, or -1 in a process that was not started as a peer.
int peer_socket() noexcept;

}  // namespace pydoca

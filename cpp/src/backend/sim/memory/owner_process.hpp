#pragma once

#include "pydoca/status.hpp"

#include "detail/fd.hpp"

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

namespace pydoca::sim {

/// The address space of a process that has exported foreign memory. The system gives a process's number to another
/// process later: nothing is written by number, and what is read by number counts only if the process is still there
/// afterwards.
class OwnerProcess {
 public:
  /// started: start_time() in that process. connection: a socket to it. Throws not_permitted when the system
  /// forbids the access that is asked for, not_connected when the process has ended, operating_system without
  /// descriptors.
  OwnerProcess(pid_t pid, std::uint64_t started, int connection, bool writable);

  pid_t pid() const noexcept { return pid_; }
  // io_failed: it is gone, or has no such memory. What was read is zero then.
  Status read(std::uint64_t from, std::byte* to, std::uint64_t size) const noexcept;
  Status write(std::uint64_t to, const std::byte* from, std::uint64_t size) const noexcept;

 private:
  bool lives() const noexcept;

  const pid_t pid_;
  const detail::Fd connection_;  ///< also ends when the process executes another program
  const detail::Fd process_;     ///< a pidfd; empty before Linux 5.3
  const detail::Fd memory_;      ///< /proc/PID/mem: this address space and no other
};

}  // namespace pydoca::sim

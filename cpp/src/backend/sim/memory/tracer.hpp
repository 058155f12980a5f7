#pragma once

#include "pydoca/status.hpp"

#include <cstddef>
#include <sys/types.h>

namespace pydoca::sim {

/// The one other process that may read and write this one's memory with process_vm_readv and process_vm_writev. Systems
/// with the Yama module must be told of it, and allow one process only. Not thread-safe.
class Tracer {
 public:
  /// Counted. in_use: another process has the permission, and the system grants one only.
  Status allow(pid_t process) noexcept;
  void disallow(pid_t process) noexcept;

 private:
  pid_t allowed_ = 0;
  std::size_t count_ = 0;
};

}  // namespace pydoca::sim

#pragma once

#include "detail/fd.hpp"

#include <cstdint>

namespace pydoca::detail {

/// A descriptor that becomes readable at a moment of now(). Belongs to one thread at a time.
class Timer {
 public:
  Timer() noexcept;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// False when the system is out of descriptors.
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
  int fd() const noexcept { return fd_.get(); }

  /// Readable from then on, and no longer before; never: not again.
  void set(std::uint64_t at) noexcept;
  void clear() noexcept;

 private:
  Fd fd_;
};

}  // namespace pydoca::detail

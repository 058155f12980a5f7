#pragma once

#include "detail/fd.hpp"
#include "detail/time/alarm.hpp"

#include <cstdint>

namespace pydoca::detail {

/// A descriptor that becomes readable at a moment of now(). It follows the clock that its process had when the timer
/// was made. Belongs to one thread at a time.
class Timer final : private Alarm {
 public:
  Timer() noexcept;
  ~Timer() override;
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// False when the system is out of descriptors.
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
  int fd() const noexcept { return fd_.get(); }

  /// Readable from then on, and no longer before; never: not again.
  void set(std::uint64_t at) noexcept;
  void clear() noexcept;

 private:
  void fire() noexcept override;

  const bool is_virtual_;
  const Fd fd_;
};

}  // namespace pydoca::detail

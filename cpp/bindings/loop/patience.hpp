#pragma once

#include <algorithm>
#include <chrono>

namespace pydoca::bindings {

/// How long to look for a completion before going to sleep, learned from what looking brought. Where the other side
/// answers within microseconds on a core of its own, looking saves two wake-ups; where it needs this very core, or
/// takes long, looking only delays it. Half as long after a look in vain, down to not at all; then once in ever more
/// times to see whether the world has changed.
class Patience {
 public:
  using Duration = std::chrono::nanoseconds;

  /// longest = 0: never. fixed: always longest.
  Patience(Duration longest, bool fixed) noexcept
      : longest_(longest), length_(fixed ? longest : std::min(longest, first)), fixed_(fixed) {}

  /// For one time of looking, after which hit() or miss() is to be told. 0: do not.
  Duration next() noexcept {
    if (length_ > Duration::zero() || longest_ == Duration::zero()) {
      return length_;
    }
    if (++skipped_ < probe_after_) {
      return Duration::zero();
    }
    skipped_ = 0;
    probing_ = true;
    return longest_;
  }
  void hit() noexcept {
    length_ = probing_ || fixed_ ? longest_ : std::min(2 * length_, longest_);
    probing_ = false;
    probe_after_ = soonest_probe;
  }
  void miss() noexcept {
    if (probing_) {
      probing_ = false;
      probe_after_ = std::min(2 * probe_after_, latest_probe);
    } else if (!fixed_) {
      length_ = length_ / 2 < shortest ? Duration::zero() : length_ / 2;
    }
  }

 private:
  static constexpr Duration first = std::chrono::microseconds(25);
  static constexpr Duration shortest = std::chrono::microseconds(3);
  static constexpr unsigned soonest_probe = 8;
  static constexpr unsigned latest_probe = 1024;

  Duration longest_;
  Duration length_;
  bool fixed_;
  bool probing_ = false;
  unsigned skipped_ = 0;
  unsigned probe_after_ = soonest_probe;
};

}  // namespace pydoca::bindings

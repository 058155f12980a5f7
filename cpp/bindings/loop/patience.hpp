#pragma once

#include <algorithm>
#include <chrono>

namespace pydoca::bindings {

/// Decides for how long to look for a completion before a sleep, from the results of earlier looks. When the other side
/// answers within microseconds on another core, looking saves two wake-ups. When it needs this core, or takes long,
/// looking only delays it. Each look in vain halves the time, down to 0; then ever rarer trials find out whether
/// looking pays again.
class Patience {
 public:
  using Duration = std::chrono::nanoseconds;

  /// longest = 0: never look. fixed: always look for longest. first: the length of the first looks.
  Patience(Duration longest, bool fixed, Duration first = std::chrono::microseconds(25)) noexcept
      : longest_(longest), length_(fixed ? longest : std::min(longest, first)), fixed_(fixed) {}

  /// The time for one look; the caller reports its result by hit() or miss(). 0: do not look.
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

#pragma once

#include "pydoca/capability/field.hpp"

#include <cstdint>
#include <tuple>

#pragma GCC visibility push(default)

namespace pydoca {

struct ClockCapabilities {
  bool nic_free_running = false;
  bool nic_real_time = false;
  bool nic_dpa_timer = false;
  std::uint64_t free_running_frequency = 0;  ///< cycles per second

  static constexpr const char* name = "ClockCapabilities";
  static constexpr const char* says = "The clocks of a device, and the frequency of its counter in Hz.";
  static constexpr auto fields() noexcept {
    using T = ClockCapabilities;
    return std::tuple{Field{"nic_free_running", &T::nic_free_running, "Whether it has a counter of cycles."},
                      Field{"nic_real_time", &T::nic_real_time, "Whether it has a clock of the time of day."},
                      Field{"nic_dpa_timer", &T::nic_dpa_timer, "Whether it has a timer of the DPA."},
                      Field{"free_running_frequency", &T::free_running_frequency, "Cycles per second of the counter."}};
  }
};

}  // namespace pydoca

#pragma GCC visibility pop

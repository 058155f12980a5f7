#pragma once

#include "pydoca/device.hpp"

#include <cstdint>
#include <memory>

#pragma GCC visibility push(default)

namespace pydoca {

/// The clocks that a Clock reads (DOCA_CLOCK_<name>). DOCA makes them bits; one bit names a clock.
enum class ClockType : std::uint32_t {
  nic_free_running = 1,     ///< the device's: cycles
  nic_real_time = 2,        ///< the device's: nanoseconds since 1970
  nic_dpa_timer = 4,        ///< the timer of the device's DPA: cycles
  host_counter_cycles = 8,  ///< this processor's: cycles
  host_real_time = 16,      ///< nanoseconds since 1970
  host_monotonic = 32,      ///< nanoseconds, at the rate to which the system corrects it
  host_monotonic_raw = 64,  ///< nanoseconds, at the oscillator's rate
};

/// Two clocks at one moment.
struct CrossTimestamp {
  std::uint64_t host = 0;
  std::uint64_t nic = 0;
  std::uint64_t accuracy = 0;  ///< nanoseconds: the two were read at most so far apart
};

/// The clocks of a device and of this machine (doca_clock). It uses its device until it is closed or destroyed. One
/// thread at a time.
///
/// A simulated device has an oscillator that deviates from this machine's by up to 20 ppm, and a time of day that was
/// set up to 100 ms wrong when the machine started; both are the same in each run and in all processes. A device of
/// rdma-core has its counter of cycles, where its driver reads it (ibv_query_rt_values_ex).
class Clock {
 public:
  /// Throws invalid_value for null, bad_state when the device is closed, not_supported, with the reason, when it has no
  /// clock.
  static std::shared_ptr<Clock> create(std::shared_ptr<Device> device);

  /// Whether the device, or this machine, has that clock (doca_clock_cap_<name>_is_supported).
  static bool is_supported(const DeviceInfo& info, ClockType type) noexcept;
  /// Cycles per second of nic_free_running, of which DOCA does not tell. Throws not_supported without that clock.
  static std::uint64_t free_running_frequency(const DeviceInfo& info);

  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  /// Cycles or nanoseconds, as type says (doca_clock_get_timestamp). Throws invalid_value unless type names one clock,
  /// not_supported for a clock that is not there, bad_state when closed, driver when the device was removed.
  std::uint64_t timestamp(ClockType type) const;
  /// A clock of this machine and one of the device, read as close together as some tries allow
  /// (doca_clock_get_crosstimestamp). Throws as timestamp() does, and invalid_value unless host is a clock of this
  /// machine and nic one of the device.
  CrossTimestamp crosstimestamp(ClockType host, ClockType nic) const;

  /// Gives the device back (doca_clock_destroy). Idempotent.
  void close() noexcept;
  bool is_closed() const noexcept { return closed_; }
  const std::shared_ptr<Device>& device() const noexcept { return device_.shared(); }

 private:
  explicit Clock(std::shared_ptr<Device> device);
  void require(ClockType type, const char* what) const;
  std::uint64_t read(ClockType type) const;

  DeviceUse device_;
  bool closed_ = false;
};

}  // namespace pydoca

#pragma GCC visibility pop

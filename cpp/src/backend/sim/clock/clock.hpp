#pragma once

#include "pydoca/backend/device.hpp"
#include "pydoca/device_properties.hpp"

#include <cstdint>

namespace pydoca::sim {

/// The clocks of one function: this machine's, with a drift and offsets that follow from the function's identity, so
/// that every process reads the same.
class Clock {
 public:
  explicit Clock(const DeviceProperties& properties) noexcept;

  Status read(backend::DeviceClock clock, std::uint64_t& value) const noexcept;

  // nanoseconds: a time of CLOCK_MONOTONIC_RAW; epoch: a time of CLOCK_REALTIME.
  std::uint64_t cycles_at(std::uint64_t nanoseconds) const noexcept;
  std::uint64_t time_at(std::uint64_t nanoseconds, std::uint64_t epoch) const noexcept;

 private:
  /// How far the oscillator has drifted, in nanoseconds.
  std::int64_t drift_at(std::uint64_t nanoseconds) const noexcept;

  const ClockCapabilities can_;
  std::int64_t drift_ = 0;   ///< nanoseconds in a second
  std::int64_t offset_ = 0;  ///< added to the time of day, in nanoseconds
  std::uint64_t first_ = 0;  ///< where the counter begins, in cycles
};

}  // namespace pydoca::sim

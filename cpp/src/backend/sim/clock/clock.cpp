#include "backend/sim/clock/clock.hpp"

#include "pydoca/device_properties.hpp"

#include "detail/clock.hpp"

#include <string_view>

namespace pydoca::sim {

namespace {

constexpr std::uint64_t ns_per_second = 1'000'000'000;
constexpr std::int64_t max_drift = 20'000;        // in nanoseconds per second: 20 ppm, a common oscillator's
constexpr std::int64_t max_offset = 100'000'000;  // nanoseconds

/// FNV-1a, and a final mix that spreads short texts over all bits.
std::uint64_t hash_of(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  }
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  return hash ^ (hash >> 33);
}

/// A number in -most .. most.
std::int64_t within(std::uint64_t hash, std::int64_t most) noexcept {
  return static_cast<std::int64_t>(hash % (2 * static_cast<std::uint64_t>(most) + 1)) - most;
}

}  // namespace

Clock::Clock(const DeviceProperties& properties) noexcept
    : can_(properties.capabilities.clock.value_or(ClockCapabilities{})) {
  const std::uint64_t hash = hash_of(properties.vuid.empty() ? properties.name : properties.vuid);
  drift_ = within(hash & 0xffff'ffff, max_drift);
  offset_ = within(hash >> 32, max_offset);
  first_ = hash >> 24;
}

std::int64_t Clock::drift_at(std::uint64_t nanoseconds) const noexcept {
  return static_cast<std::int64_t>(nanoseconds / ns_per_second) * drift_ +
         static_cast<std::int64_t>(nanoseconds % ns_per_second) * drift_ / static_cast<std::int64_t>(ns_per_second);
}

std::uint64_t Clock::cycles_at(std::uint64_t nanoseconds) const noexcept {
  const std::uint64_t own = nanoseconds + static_cast<std::uint64_t>(drift_at(nanoseconds));
  const std::uint64_t frequency = can_.free_running_frequency;
  // Parts of a second by parts of the frequency: the products stay below 2^64.
  const std::uint64_t rest = own % ns_per_second;
  return first_ + own / ns_per_second * frequency + rest * (frequency / ns_per_second) +
         rest * (frequency % ns_per_second) / ns_per_second;
}

std::uint64_t Clock::time_at(std::uint64_t nanoseconds, std::uint64_t epoch) const noexcept {
  return epoch + static_cast<std::uint64_t>(offset_ + drift_at(nanoseconds));
}

Status Clock::read(backend::DeviceClock clock, std::uint64_t& value) const noexcept {
  const std::uint64_t now = detail::nanoseconds_of(CLOCK_MONOTONIC_RAW);
  if (clock == backend::DeviceClock::free_running && can_.nic_free_running) {
    value = cycles_at(now);
    return Status::success;
  }
  if (clock == backend::DeviceClock::dpa_timer && can_.nic_dpa_timer) {
    value = cycles_at(now);
    return Status::success;
  }
  if (clock == backend::DeviceClock::real_time && can_.nic_real_time) {
    value = time_at(now, detail::nanoseconds_of(CLOCK_REALTIME));
    return Status::success;
  }
  return Status::not_supported;
}

}  // namespace pydoca::sim

#include "pydoca/clock.hpp"

#include "pydoca/backend/device.hpp"
#include "pydoca/capabilities.hpp"
#include "pydoca/device_properties.hpp"

#include "detail/clock.hpp"
#include "detail/concat.hpp"

#include <bit>
#include <limits>
#include <string_view>
#include <utility>

namespace pydoca {

namespace {

constexpr std::string_view name_of(ClockType type) noexcept {
  switch (type) {
    case ClockType::nic_free_running:
      return "nic_free_running";
    case ClockType::nic_real_time:
      return "nic_real_time";
    case ClockType::nic_dpa_timer:
      return "nic_dpa_timer";
    case ClockType::host_counter_cycles:
      return "host_counter_cycles";
    case ClockType::host_real_time:
      return "host_real_time";
    case ClockType::host_monotonic:
      return "host_monotonic";
    case ClockType::host_monotonic_raw:
      return "host_monotonic_raw";
  }
  return {};
}

bool is_of_device(ClockType type) noexcept { return type <= ClockType::nic_dpa_timer; }

/// The backend's name of a clock of the device.
backend::DeviceClock device_clock(ClockType type) noexcept {
  return static_cast<backend::DeviceClock>(std::countr_zero(static_cast<std::uint32_t>(type)));
}

std::uint64_t read_host(ClockType type) noexcept {
  switch (type) {
    case ClockType::host_counter_cycles:
      return detail::processor_cycles();
    case ClockType::host_real_time:
      return detail::nanoseconds_of(CLOCK_REALTIME);
    case ClockType::host_monotonic:
      return detail::nanoseconds_of(CLOCK_MONOTONIC);
    default:
      return detail::nanoseconds_of(CLOCK_MONOTONIC_RAW);
  }
}

}  // namespace

std::shared_ptr<Clock> Clock::create(std::shared_ptr<Device> device) {
  auto clock = std::shared_ptr<Clock>(new Clock(std::move(device)));
  const DeviceInfo& info = clock->device()->info();
  if (!info.capabilities().clock.has_value()) {
    throw Error(Status::not_supported,
                detail::concat("clock: ", info.name(), " is not suitable: ", find_capability("clock").of(info).reason));
  }
  return clock;
}

Clock::Clock(std::shared_ptr<Device> device) : device_(std::move(device), DeviceUser::clock) {}

bool Clock::is_supported(const DeviceInfo& info, ClockType type) noexcept {
  const ClockCapabilities clocks = info.capabilities().clock.value_or(ClockCapabilities{});
  switch (type) {
    case ClockType::nic_free_running:
      return clocks.nic_free_running;
    case ClockType::nic_real_time:
      return clocks.nic_real_time;
    case ClockType::nic_dpa_timer:
      return clocks.nic_dpa_timer;
    case ClockType::host_counter_cycles:
      return detail::has_processor_cycles;
    default:
      return !name_of(type).empty();
  }
}

std::uint64_t Clock::free_running_frequency(const DeviceInfo& info) {
  if (!is_supported(info, ClockType::nic_free_running)) {
    throw Error(Status::not_supported, detail::concat("clock: ", info.name(), " has no nic_free_running"));
  }
  return info.capabilities().clock->free_running_frequency;
}

void Clock::require(ClockType type, const char* what) const {
  if (closed_) {
    throw Error(Status::bad_state, detail::concat(what, ": the clock is closed; make another"));
  }
  const std::string_view name = name_of(type);
  if (name.empty()) {
    throw Error(Status::invalid_value,
                detail::concat(what, ": ", detail::hex(static_cast<std::uint32_t>(type)), " does not name one clock"));
  }
  const DeviceInfo& info = device()->info();
  if (!is_supported(info, type)) {
    throw Error(Status::not_supported,
                detail::concat(what, ": ", is_of_device(type) ? info.name() : "this machine", " has no ", name));
  }
}

std::uint64_t Clock::read(ClockType type) const {
  if (!is_of_device(type)) {
    return read_host(type);
  }
  std::uint64_t value = 0;
  const Status status = device_->backend().read_clock(device_clock(type), value);
  if (status != Status::success) {
    throw Error(status,
                detail::concat("read ", name_of(type), " of ", device_->info().name(), ": ",
                               status == Status::driver ? "the device was removed; open it again when it is back"
                                                        : error_descr(status)));
  }
  return value;
}

std::uint64_t Clock::timestamp(ClockType type) const {
  require(type, "timestamp");
  return read(type);
}

CrossTimestamp Clock::crosstimestamp(ClockType host, ClockType nic) const {
  constexpr int tries = 8;  // the best of some, as the system may interrupt one
  require(host, "crosstimestamp");
  require(nic, "crosstimestamp");
  if (is_of_device(host) || !is_of_device(nic)) {
    throw Error(Status::invalid_value, detail::concat("crosstimestamp: ", name_of(host), " and ", name_of(nic),
                                                      "; give a clock of the host, then one of the NIC"));
  }
  CrossTimestamp best{.accuracy = std::numeric_limits<std::uint64_t>::max()};
  for (int i = 0; i < tries; ++i) {
    const std::uint64_t begin = read_host(ClockType::host_monotonic_raw);
    const std::uint64_t here = read_host(host);
    const std::uint64_t there = read(nic);
    const std::uint64_t apart = read_host(ClockType::host_monotonic_raw) - begin;
    if (apart < best.accuracy) {
      best = {.host = here, .nic = there, .accuracy = apart};
    }
  }
  return best;
}

void Clock::close() noexcept {
  closed_ = true;
  device_.release();
}

}  // namespace pydoca

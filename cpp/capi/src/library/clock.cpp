#include "pydoca/clock.hpp"

#include "base/call.hpp"
#include "base/handle.hpp"
#include "common/dev.hpp"
#include "library/capabilities.hpp"

#include <cstdint>
#include <doca_clock.h>
#include <memory>

using namespace pydoca;
using capi::Call;

struct doca_clock : capi::Handle<"clock"> {
  std::shared_ptr<Clock> clock;
};

namespace {

bool counts_cycles(ClockType type) noexcept {
  return type == ClockType::nic_free_running || type == ClockType::nic_dpa_timer ||
         type == ClockType::host_counter_cycles;
}

doca_clock_timespec_t as_c(ClockType type, std::uint64_t value) noexcept {
  constexpr std::uint64_t nanoseconds = 1'000'000'000;
  doca_clock_timespec_t time{};
  if (counts_cycles(type)) {
    time.cycles = value;
  } else {
    time.ts.tv_sec = static_cast<std::int64_t>(value / nanoseconds);
    time.ts.tv_nsec = static_cast<std::int64_t>(value % nanoseconds);
  }
  return time;
}

doca_error_t answer_clock(const Call& call, const doca_devinfo* devinfo, ClockType type) noexcept {
  return capi::answer_support(call, devinfo, [&](const DeviceInfo& info) { return Clock::is_supported(info, type); });
}

}  // namespace

static_assert(DOCA_CLOCK_NIC_FREE_RUNNING == static_cast<std::uint32_t>(ClockType::nic_free_running));
static_assert(DOCA_CLOCK_NIC_REAL_TIME == static_cast<std::uint32_t>(ClockType::nic_real_time));
static_assert(DOCA_CLOCK_NIC_DPA_TIMER == static_cast<std::uint32_t>(ClockType::nic_dpa_timer));
static_assert(DOCA_CLOCK_HOST_COUNTER_CYCLES == static_cast<std::uint32_t>(ClockType::host_counter_cycles));
static_assert(DOCA_CLOCK_HOST_REAL_TIME == static_cast<std::uint32_t>(ClockType::host_real_time));
static_assert(DOCA_CLOCK_HOST_MONOTONIC == static_cast<std::uint32_t>(ClockType::host_monotonic));
static_assert(DOCA_CLOCK_HOST_MONOTONIC_RAW == static_cast<std::uint32_t>(ClockType::host_monotonic_raw));

doca_error_t doca_clock_create(doca_dev* dev, doca_clock** clock) {
  const Call call;
  if (!call.has(dev, clock)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    std::shared_ptr<Clock> made = Clock::create(dev->device);
    doca_clock* const handle = capi::Slab<doca_clock>::make();
    handle->clock = std::move(made);
    *clock = handle;
  });
}

doca_error_t doca_clock_destroy(doca_clock* clock) {
  const Call call;
  if (!call.has(clock)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  clock->clock->close();
  capi::Slab<doca_clock>::end(*clock);
  return DOCA_SUCCESS;
}

doca_error_t doca_clock_get_timestamp(doca_clock* clock, std::uint32_t type, doca_clock_timespec_t* timestamp) {
  const Call call;
  if (!call.has(clock, timestamp)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    const auto kind = static_cast<ClockType>(type);
    *timestamp = as_c(kind, clock->clock->timestamp(kind));
  });
}

doca_error_t doca_clock_get_crosstimestamp(doca_clock* clock, std::uint32_t prim_type, std::uint32_t nic_type,
                                           doca_clock_timespec_t* prim_timestamp, doca_clock_timespec_t* nic_timestamp,
                                           std::uint64_t* accuracy) {
  const Call call;
  if (!call.has(clock, prim_timestamp, nic_timestamp, accuracy)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] {
    const auto host = static_cast<ClockType>(prim_type);
    const auto nic = static_cast<ClockType>(nic_type);
    const CrossTimestamp read = clock->clock->crosstimestamp(host, nic);
    *prim_timestamp = as_c(host, read.host);
    *nic_timestamp = as_c(nic, read.nic);
    *accuracy = read.accuracy;
  });
}

doca_error_t doca_clock_cap_nic_free_running_is_supported(const doca_devinfo* devinfo) {
  return answer_clock(Call(), devinfo, ClockType::nic_free_running);
}

doca_error_t doca_clock_cap_nic_real_time_is_supported(const doca_devinfo* devinfo) {
  return answer_clock(Call(), devinfo, ClockType::nic_real_time);
}

doca_error_t doca_clock_cap_nic_dpa_timer_is_supported(const doca_devinfo* devinfo) {
  return answer_clock(Call(), devinfo, ClockType::nic_dpa_timer);
}

#include "backend/sim/clock/clock.hpp"

#include <pydoca/clock.hpp>
#include <pydoca/device_properties.hpp>
#include <pydoca/sim.hpp>

#include "rig/expect_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace pydoca {
namespace {

using enum ClockType;

constexpr std::uint64_t ns_per_second = 1'000'000'000;

class ClockTest : public testing::Test {
 protected:
  std::shared_ptr<Device> device = Device::open(find_device("p0"));
};

TEST_F(ClockTest, ReadsTheClocksOfTheDeviceAndOfThisMachine) {
  const auto clock = Clock::create(device);
  for (const ClockType type :
       {nic_free_running, nic_real_time, host_counter_cycles, host_real_time, host_monotonic, host_monotonic_raw}) {
    if (Clock::is_supported(device->info(), type)) {
      const std::uint64_t before = clock->timestamp(type);
      EXPECT_GE(clock->timestamp(type), before);
    }
  }
  EXPECT_GT(Clock::free_running_frequency(device->info()), 0U);
}

TEST_F(ClockTest, ReadsTwoClocksAtOneMoment) {
  const auto clock = Clock::create(device);
  const std::uint64_t before = clock->timestamp(host_monotonic_raw);
  const std::uint64_t nic_before = clock->timestamp(nic_free_running);
  const CrossTimestamp both = clock->crosstimestamp(host_monotonic_raw, nic_free_running);
  EXPECT_GE(both.host, before);
  EXPECT_LE(both.host, clock->timestamp(host_monotonic_raw));
  EXPECT_GE(both.nic, nic_before);
  EXPECT_LE(both.nic, clock->timestamp(nic_free_running));
  EXPECT_LE(both.accuracy, clock->timestamp(host_monotonic_raw) - before);
}

TEST_F(ClockTest, RefusesWhatIsNotThere) {
  sim::set_topology(sim::default_topology("bluefield2"));
  const auto old = Device::open(find_device("p0"));
  EXPECT_FALSE(Clock::is_supported(old->info(), nic_dpa_timer));
  EXPECT_EQ(thrown_by([&] { Clock::create(old)->timestamp(nic_dpa_timer); }), Status::not_supported);
  const auto clock = Clock::create(device);
  const std::uint64_t before = clock->timestamp(nic_free_running);
  EXPECT_GE(clock->timestamp(nic_dpa_timer), before);
  EXPECT_EQ(thrown_by([&] { clock->timestamp(static_cast<ClockType>(3)); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { clock->crosstimestamp(nic_real_time, nic_free_running); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { clock->crosstimestamp(host_real_time, host_monotonic); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { Clock::create(nullptr); }), Status::invalid_value);
}

TEST_F(ClockTest, KeepsItsDeviceOpenUntilItIsClosed) {
  const auto clock = Clock::create(device);
  EXPECT_EQ(thrown_by([&] { device->close(); }), Status::in_use);
  clock->close();
  clock->close();
  EXPECT_EQ(thrown_by([&] { clock->timestamp(host_real_time); }), Status::bad_state);
  device->close();
  EXPECT_EQ(thrown_by([&] { Clock::create(device); }), Status::bad_state);
}

TEST_F(ClockTest, FailsWhenTheDeviceWasRemoved) {
  const auto clock = Clock::create(device);
  sim::remove_device("p0");
  EXPECT_EQ(thrown_by([&] { clock->timestamp(nic_real_time); }), Status::driver);
  EXPECT_EQ(thrown_by([&] { clock->crosstimestamp(host_real_time, nic_real_time); }), Status::driver);
  EXPECT_GT(clock->timestamp(host_real_time), 0U);
  sim::restore_device("p0");
}

TEST_F(ClockTest, ADeviceWithoutClocksIsRefusedWithTheReason) {
  auto topology = sim::default_topology();
  for (sim::Function& function : topology.functions) {
    function.properties.capabilities.clock.reset();
  }
  device->close();
  sim::set_topology(topology);
  const auto other = Device::open(find_device("p0"));
  EXPECT_EQ(thrown_by([&] { Clock::create(other); }), Status::not_supported);
  EXPECT_FALSE(Clock::is_supported(other->info(), nic_real_time));
  EXPECT_EQ(thrown_by([&] { Clock::free_running_frequency(other->info()); }), Status::not_supported);
}

// ---- The simulated oscillator ---------------------------------------------------------------------------------------

DeviceProperties properties_of(const char* vuid) {
  DeviceProperties properties;
  properties.vuid = vuid;
  properties.capabilities = sim::profile_capabilities("bluefield3", Side::dpu);
  return properties;
}

TEST(SimulatedClock, IsTheSameForTheSameFunction) {
  const sim::Clock one(properties_of("A"));
  const sim::Clock same(properties_of("A"));
  const sim::Clock other(properties_of("B"));
  for (const std::uint64_t now : {std::uint64_t{0}, ns_per_second, 1'000'000 * ns_per_second}) {
    EXPECT_EQ(one.cycles_at(now), same.cycles_at(now));
    EXPECT_EQ(one.time_at(now, 7), same.time_at(now, 7));
    EXPECT_NE(one.cycles_at(now), other.cycles_at(now));
  }
}

TEST(SimulatedClock, DriftsByAtMostTwentyPpmAndNeverGoesBack) {
  for (const char* const vuid : {"A", "B", "C", "SIM0001X00001ECS0D0F0", ""}) {
    const sim::Clock clock(properties_of(vuid));
    constexpr std::uint64_t day = 86'400 * ns_per_second;
    const auto cycles = static_cast<double>(clock.cycles_at(day) - clock.cycles_at(0));
    EXPECT_NEAR(cycles / static_cast<double>(day), 1.0, 20e-6) << "its frequency is 1 GHz";
    const auto wrong = static_cast<double>(static_cast<std::int64_t>(clock.time_at(0, ns_per_second) - ns_per_second));
    EXPECT_LE(std::abs(wrong), 0.1 * static_cast<double>(ns_per_second));
    for (std::uint64_t now = ns_per_second - 1000; now < ns_per_second + 1000; ++now) {
      ASSERT_LE(clock.cycles_at(now), clock.cycles_at(now + 1));
    }
  }
}

TEST(SimulatedClock, CountsAtItsFrequency) {
  DeviceProperties properties = properties_of("A");
  const std::uint64_t fast = sim::Clock(properties).cycles_at(ns_per_second) - sim::Clock(properties).cycles_at(0);
  properties.capabilities.clock->free_running_frequency = 156'250'000;
  const std::uint64_t slow = sim::Clock(properties).cycles_at(ns_per_second) - sim::Clock(properties).cycles_at(0);
  EXPECT_NEAR(static_cast<double>(fast) / static_cast<double>(slow), 6.4, 1e-6);
}

}  // namespace
}  // namespace pydoca

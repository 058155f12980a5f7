/// Changes of sync events with a timing model, in virtual time: every moment is exact.

#include <pydoca/interrupt.hpp>
#include <pydoca/sim.hpp>
#include <pydoca/virtual_time.hpp>

#include "detail/time/time.hpp"
#include "rig/library/sync_event_rig.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace pydoca {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Op = SyncEventOperation;

class ModelledCounterTest : public SyncEventRigTest {
 protected:
  std::shared_ptr<Device> open_modelled(const sim::OperationTiming& set, const sim::OperationTiming& add) {
    sim::Config config;
    config.timing.operations["sync_event_set"] = set;
    config.timing.operations["sync_event_add"] = add;
    sim::set_config(config);
    return open_function("p0");
  }
};

class ModelledCounterInVirtualTime : public ModelledCounterTest {
 protected:
  nanoseconds since_begin() const { return sim::VirtualTime::now() - begin; }

  sim::VirtualTime time{sim::VirtualTimeOptions{}};
  nanoseconds begin = sim::VirtualTime::now();
};

TEST_F(ModelledCounterInVirtualTime, ACallWaitsUntilTheValueHasChanged) {
  const auto event = local_event(open_modelled({.latency = 3ms}, {.latency = 5ms}));
  event->start();
  EXPECT_EQ(event->update_set(7), Status::success);
  EXPECT_EQ(since_begin(), 3ms);
  std::uint64_t value = 0;
  EXPECT_EQ(event->get(value), Status::success);
  EXPECT_EQ(value, 7U);
  EXPECT_EQ(event->update_add(2, value), Status::success);
  EXPECT_EQ(std::pair(value, since_begin()), (std::pair<std::uint64_t, nanoseconds>(7, 8ms)));
  event->close();
}

TEST_F(ModelledCounterInVirtualTime, TheOtherSideSeesAChangeWhenItIsDue) {
  const auto device = open_modelled({.latency = 3ms}, {});
  const auto host = open_function("pf0");
  const auto event = exported_event(host);
  event->start();
  const auto imported = SyncEvent::create_from_export(device, event->export_to_remote_pci(*host));
  imported->start();
  nanoseconds seen{0};
  sim::VirtualTime::join();  // first: a waiter that takes part alone is stuck
  std::thread waiter([&] {
    EXPECT_EQ(event->wait_gt(0, all_bits, WaitMode::busy, SyncEvent::forever), Status::success);
    seen = since_begin();
    sim::VirtualTime::leave();
  });
  while (sim::VirtualTime::num_threads() < 2) {
    std::this_thread::yield();
  }
  EXPECT_EQ(imported->update_set(1), Status::success);
  sim::VirtualTime::leave();
  waiter.join();
  EXPECT_EQ(seen, 3ms);
  imported->close();
  event->close();
}

TEST_F(ModelledCounterInVirtualTime, UpdatesShareAnEngine) {
  const auto device = open_modelled({.rate = 1000}, {.rate = 1000});
  const auto one = local_event(device);
  const auto other = local_event(device);
  const auto pe = ProgressEngine::create();
  {
    EventRig first(one, pe);
    EventRig second(other, pe);
    first.submit(Op::notify_set, 1);
    second.submit(Op::notify_add, 1);
    second.sleep_until(1);
    EXPECT_EQ(first.completions.size(), 1U);
    EXPECT_GE(since_begin(), 2ms);
    EXPECT_LT(since_begin(), 2ms + 10us);
  }
}

TEST_F(ModelledCounterInVirtualTime, TasksOfUpdatesEndWhenTheyAreDueInTheirOrder) {
  const auto event = local_event(open_modelled({.latency = 3ms}, {.latency = 1ms}));
  const auto pe = ProgressEngine::create();
  EventRig rig(event, pe);
  rig.submit(Op::notify_set, 7, all_bits, 1);
  rig.submit(Op::notify_add, 2, all_bits, 2);  // due earlier, and it keeps its place
  rig.submit(Op::wait_eq, 9, all_bits, 3);
  rig.submit(Op::get, 0, all_bits, 4);
  rig.sleep_until(4);
  EXPECT_EQ(rig.completions[0], (EventRig::Completion{4, Status::success, 0}));
  EXPECT_EQ(rig.completions[1].user_data, 1U);
  EXPECT_EQ(rig.completions[2], (EventRig::Completion{2, Status::success, 7}));
  EXPECT_EQ(rig.completions[3], (EventRig::Completion{3, Status::success, 9}));
  EXPECT_GE(since_begin(), 3ms);
  EXPECT_LT(since_begin(), 3ms + 10us);
}

TEST_F(ModelledCounterInVirtualTime, AStopEndsUpdatesThatAreNotDue) {
  const auto event = local_event(open_modelled({.latency = 1h}, {}));
  const auto pe = ProgressEngine::create();
  EventRig rig(event, pe);
  rig.submit(Op::notify_set, 7, all_bits, 1);
  rig.submit(Op::notify_set, 8, all_bits, 2);
  rig.stop();
  ASSERT_EQ(rig.completions.size(), 2U);
  EXPECT_EQ(rig.completions[0].status, Status::shutdown);
  EXPECT_LT(since_begin(), 1ms);
}

TEST_F(ModelledCounterInVirtualTime, ARemovalEndsUpdatesThatAreNotDue) {
  const auto event = local_event(open_modelled({.latency = 1h}, {}));
  const auto pe = ProgressEngine::create();
  EventRig rig(event, pe);
  rig.submit(Op::notify_set, 7, all_bits, 1);
  sim::remove_device("p0");
  rig.sleep_until(1);
  EXPECT_EQ(rig.completions[0].status, Status::driver);
  EXPECT_LT(since_begin(), 1ms);
}

TEST_F(ModelledCounterTest, InRealTimeACallWaitsToo) {
  const auto event = local_event(open_modelled({.latency = 3ms}, {.latency = 20us}));
  event->start();
  const std::uint64_t begin = detail::now();
  EXPECT_EQ(event->update_set(7), Status::success);
  EXPECT_GE(detail::now() - begin, 3'000'000U);
  const std::uint64_t again = detail::now();
  std::uint64_t value = 0;
  EXPECT_EQ(event->update_add(1, value), Status::success);
  EXPECT_GE(detail::now() - again, 20'000U);
  EXPECT_EQ(value, 7U);
  event->close();
}

TEST_F(ModelledCounterTest, ASignalEndsALongUpdate) {
  const auto event = local_event(open_modelled({.latency = 1h}, {}));
  event->start();
  set_interrupt_check([]() noexcept { return true; });
  EXPECT_EQ(event->update_set(7), Status::again);
  set_interrupt_check(nullptr);
  std::uint64_t value = 1;
  EXPECT_EQ(event->get(value), Status::success);
  EXPECT_EQ(value, 0U);
  event->close();
}

}  // namespace
}  // namespace pydoca

#include <pydoca/capabilities.hpp>
#include <pydoca/device_properties.hpp>

#include "backend/faulty/faults_rig.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/sha_rig.hpp"
#include "rig/library/sync_event_rig.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

namespace pydoca {

/// A sync event on a device with the plan's faults.
class EventFaults : public FaultsTest {
 protected:
  void start(FaultRule rule) {
    inject({std::move(rule)});
    device = open_function("pf0");
    event = local_event(device);
    event->start();
  }
  std::uint64_t value() const {
    std::uint64_t value = 0;
    EXPECT_EQ(event->get(value), Status::success);
    return value;
  }

  std::shared_ptr<Device> device;
  std::shared_ptr<SyncEvent> event;
};

TEST_F(EventFaults, AnUpdateFailsOrHasNoEffectOrComesTwiceOrIsWrong) {
  std::uint64_t previous = 0;
  start({.opcodes = {"sync_event.set"}});
  EXPECT_EQ(event->update_set(4), Status::io_failed);
  plan->remove();
  start({.action = FaultAction::drop, .opcodes = {"sync_event.set"}});
  EXPECT_EQ(event->update_set(4), Status::success);
  EXPECT_EQ(value(), 0U);
  plan->remove();
  start({.action = FaultAction::duplicate});
  EXPECT_EQ(event->update_add(4, previous), Status::success);
  EXPECT_EQ(previous, 0U);
  EXPECT_EQ(value(), 8U);
  plan->remove();
  start({.action = FaultAction::corrupt, .offset = 0});
  EXPECT_EQ(event->update_set(0), Status::success);
  EXPECT_EQ(std::popcount(value()), 1);
}

TEST_F(EventFaults, AFailedUpdateNamesItsRule) {
  inject({{.action = FaultAction::drop, .opcodes = {"sync_event.add"}},
          {.opcodes = {"sync_event.set"}, .times = 1, .status = Status::driver}});
  event = local_event(open_function("pf0"));
  event->start();
  EXPECT_EQ(event->update_set(4), Status::driver);
  EXPECT_EQ(event->explain(Status::driver), "the fault plan's rule 2 failed it");
  EXPECT_THAT(event->explain(Status::time_out), testing::HasSubstr("the time allowed has passed"));
  EXPECT_EQ(event->update_set(4), Status::success);
  EXPECT_THAT(event->explain(Status::driver), testing::HasSubstr("the driver of pf0"));
}

TEST_F(EventFaults, AWaitTaskThatIsNotWokenIsFlushed) {
  inject({{.action = FaultAction::lose_notification, .opcodes = {"sync_event.wait"}}});
  device = open_function("pf0");
  event = local_event(device);
  const auto pe = ProgressEngine::create();
  EventRig rig(event, pe);
  rig.submit(SyncEventOperation::wait_gt, 3);
  rig.stop();
  EXPECT_EQ(rig.completions.at(0).status, Status::shutdown);
}

/// Hashes on a device that has the engine.
class HashFaults : public FaultsTest {
 protected:
  static constexpr std::string_view abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

  void start(FaultRule rule) {
    sim::set_topology(sim::default_topology("bluefield2"));
    inject({std::move(rule)});
    device = Device::open(find_device("p0", Side::dpu));
    if (!device->info().capabilities().sha) {
      GTEST_SKIP() << find_capability("sha").of(device->info()).reason;
    }
    src.emplace(device, 3);
    dst.emplace(device, 64);
    std::ranges::transform(std::string_view("abc"), src->bytes.begin(), [](char c) { return std::byte(c); });
    rig.emplace(device, ProgressEngine::create(), 8);
    EXPECT_EQ(rig->sha->start(), Status::success);
    from = bufs.by_data(*src, 0, 3);
    to = bufs.by_addr(*dst, 0, 64);
    rig->submitted(from, to);
  }
  void TearDown() override {
    if (!rig) {
      return;
    }
    static_cast<void>(rig->sha->stop());
    rig->progress_until_idle();
    rig->sha->close();
    Bufs::free({from, to});
  }
  std::string digest() const { return to_hex(std::span(dst->bytes).first(32)); }

  std::shared_ptr<Device> device;
  std::optional<MappedBytes> src;
  std::optional<MappedBytes> dst;
  Bufs bufs{8};
  std::optional<ShaRig> rig;
  Buf* from = nullptr;
  Buf* to = nullptr;
};

TEST_F(HashFaults, ADigestIsWrong) {
  start({.action = FaultAction::corrupt, .opcodes = {"sha.hash"}});
  if (IsSkipped()) {
    return;
  }
  rig->progress_until(1);
  EXPECT_EQ(rig->completions[0].status, Status::success);
  EXPECT_NE(digest(), abc);
  EXPECT_EQ(to->data_len(), 32U);
}

TEST_F(HashFaults, ADigestIsThatOfAPart) {
  start({.action = FaultAction::misreport_length, .length = 0});
  if (IsSkipped()) {
    return;
  }
  rig->progress_until(1);
  EXPECT_EQ(digest(), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");  // the empty message's
}

TEST_F(HashFaults, AHashFails) {
  start({.opcodes = {"sha.hash"}, .status = Status::driver});
  if (IsSkipped()) {
    return;
  }
  rig->progress_until_idle();
  EXPECT_EQ(rig->sha->failure(), Status::driver);
}

// ---- Plans

using PlanTest = FaultsTest;

TEST_F(PlanTest, ContradictoryRulesAreRefused) {
  const auto refused = [](FaultRule rule) { return reason_of([&] { FaultPlan::create({std::move(rule)}); }); };
  EXPECT_THAT(refused({.nth = 1, .every = 2}), testing::HasSubstr("nth is 1 and every is 2"));
  EXPECT_THAT(refused({.probability = 1.5}), testing::HasSubstr("0..1"));
  EXPECT_THAT(refused({.status = Status::again}), testing::HasSubstr("use the action full"));
  EXPECT_THAT(refused({.action = FaultAction::delay}), testing::HasSubstr("must be positive"));
  EXPECT_THAT(refused({.action = FaultAction::corrupt, .opcodes = {"sync_event.wait"}}),
              testing::HasSubstr("corrupt cannot happen to sync_event.wait; it can to: dma.memcpy"));
  EXPECT_THAT(refused({.opcodes = {"dma.copy"}}),
              testing::HasSubstr("\"dma.copy\" is not an opcode; fail can happen to"));
  EXPECT_THAT(refused({.nth = 2, .times = 3}), testing::HasSubstr("leave one of them out"));
  EXPECT_THAT(refused({.after = std::chrono::seconds(2), .until = std::chrono::seconds(1)}),
              testing::HasSubstr("is empty"));
  EXPECT_THAT(refused({.action = FaultAction::misreport_capability}), testing::HasSubstr("no capabilities"));
}

TEST_F(PlanTest, OnePlanIsInForce) {
  inject({});
  EXPECT_EQ(FaultPlan::in_force(), plan);
  EXPECT_EQ(thrown_by([] { FaultPlan::create({})->install(); }), Status::already_exist);
  plan->remove();
  plan->remove();
  EXPECT_EQ(FaultPlan::in_force(), nullptr);
}

TEST_F(PlanTest, ARuleThatCannotTriggerSaysWhy) {
  inject({{.device = "p9"},
          {.probability = 0},
          {.opcodes = {"sha.hash"}, .device = "p0"},
          {.opcodes = {"dma.memcpy"}, .device = "p0"},
          {.device = "p1"}});
  const auto device = Device::open(find_device("p0", Side::dpu));
  EXPECT_EQ(report(0).never, "no device is called \"p9\"");
  EXPECT_EQ(report(1).never, "its probability is 0");
  EXPECT_EQ(report(2).never, "the devices that were opened cannot do such an operation");
  EXPECT_EQ(report(3).never, "no such operation was posted");
  EXPECT_THAT(report(4).never, testing::HasSubstr("open it after install()"));
}

TEST_F(PlanTest, ADeviceThatIsOpenStaysSoundAndIsOpenedAnewWithFaults) {
  const auto before = Device::open(find_device("p0", Side::dpu));
  EXPECT_EQ(open_devices().size(), 1U);
  inject({{.device = "p0"}});
  EXPECT_TRUE(before->replaced());
  const auto during = Device::open(find_device("p0", Side::dpu));
  EXPECT_NE(during, before);
  EXPECT_EQ(Device::open(find_device("p0", Side::dpu)), during);
  EXPECT_EQ(Device::open(find_device("p1", Side::dpu)), Device::open(find_device("p1", Side::dpu)));
  plan->remove();
  EXPECT_EQ(Device::open(find_device("p0", Side::dpu)), before);
}

TEST_F(PlanTest, CapabilitiesAreMisreported) {
  FaultRule rule{.action = FaultAction::misreport_capability, .device = "0b:00.0"};
  rule.misreport = [](Capabilities& capabilities) { capabilities.dma.reset(); };
  inject({rule});
  EXPECT_FALSE(find_device("pf0").capabilities().dma.has_value());
  EXPECT_TRUE(find_device("pf1").capabilities().dma.has_value());
  EXPECT_TRUE(report().never.empty());
  plan->remove();
  EXPECT_TRUE(find_device("pf0").capabilities().dma.has_value());
}

TEST_F(PlanTest, APredicateChooses) {
  FaultRule rule{.opcodes = {"sync_event.set"}};
  rule.when = [](const FaultOperation& operation) {
    return operation.device == "pf0" && operation.length == 8 && operation.opcode == "sync_event.set";
  };
  inject({rule});
  for (const char* const name : {"pf0", "pf1"}) {
    const auto event = local_event(open_function(name));
    event->start();
    EXPECT_EQ(event->update_set(1), name == std::string_view("pf0") ? Status::io_failed : Status::success);
  }
}

}  // namespace pydoca

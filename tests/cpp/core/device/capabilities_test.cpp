#include <pydoca/capabilities.hpp>
#include <pydoca/device_properties.hpp>
#include <pydoca/sim.hpp>

#include "rig/expect_error.hpp"
#include "rig/fake_device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pydoca {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

DeviceInfo info_of(fake::Backend& backend) { return {backend, backend.enumerate().front()}; }

TEST(Capabilities, HaveAReasonExactlyWhereTheyAreAbsent) {
  fake::Backend backend({.can_export = true});
  const DeviceInfo info = info_of(backend);
  for (const Capability& capability : capabilities()) {
    const Support support = capability.of(info);
    EXPECT_EQ(support.supported, support.reason.empty()) << capability.name;
  }
  EXPECT_TRUE(find_capability("dma").of(info));
  EXPECT_TRUE(find_capability("mmap_export_pci").of(info));
  EXPECT_FALSE(find_capability("comch_server").of(info));
}

TEST(Capabilities, SayWhyTheyAreAbsent) {
  fake::Backend backend({.has_dma = false});
  EXPECT_EQ(find_capability("dma").of(info_of(backend)).reason, "it has no DMA engine");
  EXPECT_EQ(find_capability("rdma_atomics").of(info_of(backend)).reason, Capabilities().no_rdma);
}

TEST(Capabilities, TakeTheReasonOfTheBackendWhereItHasOne) {
  fake::Backend backend;
  DeviceProperties properties = backend.enumerate().front();
  const auto reason_of = [&](std::string_view name) {
    return find_capability(name).of(DeviceInfo(backend, properties)).reason;
  };
  EXPECT_EQ(reason_of("mmap_create_from_export_pci"), "it imports no memory over PCIe");
  EXPECT_EQ(reason_of("representors"), "it has no representors");
  EXPECT_EQ(reason_of("comch_server"), "it has no comch");
  EXPECT_EQ(reason_of("sync_event_create_from_export"), "it has no sync events");
  properties.capabilities.refusals.mmap_create_from_export_pci = "the link is down";
  properties.capabilities.refusals.representors = "the switch has none";
  properties.capabilities.refusals.comch_server = "the service is off";
  properties.capabilities.sync_event.emplace();
  properties.capabilities.refusals.sync_event_pci = "the link is down, too";
  EXPECT_EQ(reason_of("mmap_create_from_export_pci"), "the link is down");
  EXPECT_EQ(reason_of("representors"), "the switch has none");
  EXPECT_EQ(reason_of("comch_server"), "the service is off");
  EXPECT_EQ(reason_of("sync_event_create_from_export"), "the link is down, too");
  EXPECT_EQ(reason_of("async_sync_event_wait"), "it has no asynchronous waits");
}

TEST(Capabilities, OfASimulatedCardNameTheSideOrTheGenerationThatHasThem) {
  fake::Backend backend;
  const auto reason_of = [&](std::string_view profile, Side side, std::string_view name) {
    DeviceProperties properties;
    properties.capabilities = sim::profile_capabilities(profile, side);
    return find_capability(name).of(DeviceInfo(backend, properties)).reason;
  };
  EXPECT_EQ(reason_of("bluefield3", Side::host, "comch_server"), "only functions of the DPU are servers");
  EXPECT_EQ(reason_of("bluefield3", Side::dpu, "comch_client"), "only functions of the host are clients");
  EXPECT_EQ(reason_of("bluefield3", Side::dpu, "mmap_export_pci"),
            "only functions of the host export memory over PCIe");
  EXPECT_EQ(reason_of("bluefield3", Side::host, "mmap_create_from_export_pci"),
            "only functions of the DPU import memory over PCIe");
  EXPECT_EQ(reason_of("bluefield3", Side::host, "representors"),
            "only physical functions of the DPU have representors");
  EXPECT_EQ(reason_of("bluefield2", Side::dpu, "async_sync_event_wait"),
            "asynchronous waits need a BlueField-3, a ConnectX-7 or newer");
}

TEST(Capabilities, AnUnknownNameIsRefusedWithTheKnownOnes) {
  EXPECT_EQ(thrown_by([] { static_cast<void>(find_capability("teleport")); }), Status::invalid_value);
  EXPECT_THAT(reason_of([] { static_cast<void>(find_capability("teleport")); }),
              HasSubstr("dma, sha, compress, sync_event"));
  EXPECT_THAT(capabilities(), Not(IsEmpty()));
}

}  // namespace
}  // namespace pydoca

#include <pydoca/capabilities.hpp>

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

TEST(Capabilities, AnUnknownNameIsRefusedWithTheKnownOnes) {
  EXPECT_EQ(thrown_by([] { static_cast<void>(find_capability("teleport")); }), Status::invalid_value);
  EXPECT_THAT(reason_of([] { static_cast<void>(find_capability("teleport")); }), HasSubstr("dma, comch_server"));
  EXPECT_THAT(capabilities(), Not(IsEmpty()));
}

}  // namespace
}  // namespace pydoca

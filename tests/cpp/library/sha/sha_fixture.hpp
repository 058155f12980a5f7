#pragma once

#include <pydoca/sim.hpp>

#include "rig/bytes.hpp"
#include "rig/library/sha_rig.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace pydoca {

inline std::shared_ptr<Device> open_bluefield2() {
  sim::set_topology(sim::default_topology("bluefield2"));
  return Device::open(find_device("p0", Side::dpu));
}

/// A started Sha with memory of its own.
class ShaTest : public HeldBufsTest {
 public:
  static constexpr std::size_t memory_size = std::size_t{8} << 20;

  void SetUp() override {
    ASSERT_EQ(rig.sha->start(), Status::success);
    fill_pattern(src_memory.bytes, 1);
    for (const std::size_t i : {0U, 1U, 2U}) {
      src_memory.bytes[i] = static_cast<std::byte>("abc"[i]);
    }
  }
  void TearDown() override {
    EXPECT_EQ(rig.sha->stop(), Status::success);
    rig.progress_until_idle();
    HeldBufsTest::TearDown();
  }

  Buf* source(std::size_t offset, std::size_t len) { return hold(bufs.by_data(src_memory, offset, len)); }
  Buf* target(std::size_t offset = 0, std::size_t len = 64) { return hold(bufs.by_addr(dst_memory, offset, len)); }
  std::string digest_of(Buf* src, ShaAlgorithm algorithm = ShaAlgorithm::sha256) {
    rig.submitted(src, target(), algorithm);
    rig.progress_until(rig.completions.size() + 1);
    EXPECT_EQ(rig.completions.back().status, Status::success);
    return to_hex(std::span(dst_memory.bytes).first(digest_size(algorithm)));
  }

  std::shared_ptr<Device> device = open_bluefield2();
  std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
  MappedBytes src_memory{device, memory_size};
  MappedBytes dst_memory{device, 4096};
  ShaRig rig{device, pe, 64};
};

}  // namespace pydoca

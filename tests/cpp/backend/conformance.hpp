#pragma once

/// The requirements on every backend, tested through the engine. The tests are compiled once; a backend's own test file
/// instantiates them with its subjects. A test that needs a capability which the device lacks is skipped, with the
/// reason.

#include <pydoca/clock.hpp>
#include <pydoca/device_properties.hpp>
#include <pydoca/sync_event.hpp>

#include "rig/bytes.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/dma_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace pydoca::conformance {

/// A device of a backend.
struct Subject {
  std::string name;
  /// Empty, or the reason why this machine has no such device.
  std::function<std::string()> absent;
  std::function<DeviceInfo()> find;

  friend std::ostream& operator<<(std::ostream& out, const Subject& subject) { return out << subject.name; }
};

inline std::string name_of(const testing::TestParamInfo<Subject>& info) { return info.param.name; }

/// Opens the device, or skips the test if there is none.
class Conformance : public testing::TestWithParam<Subject> {
 protected:
  void SetUp() override {
    if (const std::string reason = GetParam().absent(); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
    device = Device::open(GetParam().find());
  }

  const Capabilities& can() const { return device->info().capabilities(); }
  /// The largest copy of one DMA task, up to a bound for the tests.
  std::size_t max_size() const { return std::min<std::size_t>(can().dma->max_buf_size, std::size_t{2} << 20); }

  std::shared_ptr<Device> device;
  std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
};

/// Progresses until done(), for a minute at most. Returns whether it was done.
inline bool progress_until(ProgressEngine& pe, const std::function<bool()>& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!done() && std::chrono::steady_clock::now() < end) {
    pe.progress();
  }
  return done();
}

/// A source that is filled, a destination, and a started Dma between them.
class DmaConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped()) {
      return;
    }
    if (!can().dma) {
      GTEST_SKIP() << "the device has no DMA engine";
    }
    src.emplace(device, max_size());
    dst.emplace(device, max_size());
    fill_pattern(src->bytes, 1);
    rig.emplace(device, pe, num_tasks);
    EXPECT_EQ(rig->dma->start(), Status::success);
  }
  void TearDown() override {
    if (!rig) {
      return;
    }
    static_cast<void>(rig->dma->stop());
    EXPECT_TRUE(progress_until(*pe, [&] { return rig->dma->state() == ContextState::idle; }));
    for (Buf* const buf : held) {
      EXPECT_EQ(buf->dec_refcount(), Status::success);
    }
    rig->dma->close();
  }

  Buf* source(std::size_t offset, std::size_t len) { return held.emplace_back(bufs.by_data(*src, offset, len)); }
  Buf* target(std::size_t offset, std::size_t len) { return held.emplace_back(bufs.by_addr(*dst, offset, len)); }
  bool wait_for(std::size_t completions) {
    return progress_until(*pe, [&] { return rig->completions.size() >= completions; });
  }
  void expect_copied(std::size_t from, std::size_t to, std::size_t len) {
    EXPECT_TRUE(same(std::span(src->bytes).subspan(from, len), std::span(dst->bytes).subspan(to, len)))
        << len << " bytes from " << from << " to " << to;
  }
  Status status_of_last() const { return rig->completions.empty() ? Status::empty : rig->completions.back().status; }

  static constexpr std::uint32_t num_tasks = 32;
  std::optional<MappedBytes> src;
  std::optional<MappedBytes> dst;
  Bufs bufs{256};
  std::optional<DmaRig> rig;
  std::vector<Buf*> held;
};

class SyncEventConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (!IsSkipped() && !can().sync_event) {
      GTEST_SKIP() << "the device has no sync events";
    }
  }
};

}  // namespace pydoca::conformance

#pragma once

/// What Compress must do on every backend that has a compression engine.

#include <pydoca/capabilities.hpp>

#include "backend/conformance.hpp"
#include "rig/bytes.hpp"
#include "rig/library/compress_rig.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace pydoca::conformance {

/// A source, a destination, and a started Compress between them.
class CompressConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped()) {
      return;
    }
    if (!can().compress) {
      GTEST_SKIP() << find_capability("compress").of(device->info()).reason;
    }
    src.emplace(device, size);
    dst.emplace(device, size);
    rig.emplace(device, pe, num_tasks);
    EXPECT_EQ(rig->compress->start(), Status::success);
  }
  void TearDown() override {
    if (!rig) {
      return;
    }
    static_cast<void>(rig->compress->stop());
    EXPECT_TRUE(progress_until(*pe, [&] { return rig->compress->state() == ContextState::idle; }));
    for (Buf* const buf : held) {
      EXPECT_EQ(buf->dec_refcount(), Status::success);
    }
    rig->compress->close();
  }

  Buf* source(const ByteVector& stream, std::size_t offset = 0) {
    std::ranges::copy(stream, src->bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    return held.emplace_back(bufs.by_data(*src, offset, stream.size()));
  }
  Buf* target(std::size_t offset = 0, std::size_t len = size / 2) {
    return held.emplace_back(bufs.by_addr(*dst, offset, len));
  }
  bool wait_for(std::size_t completions) {
    return progress_until(*pe, [&] { return rig->completions.size() >= completions; });
  }
  /// Bytes that differ from their neighbours.
  static ByteVector plain(std::size_t len) {
    ByteVector bytes(len);
    fill_pattern(bytes, 3);
    return bytes;
  }
  std::span<const std::byte> written(std::size_t offset, std::size_t len) const {
    return std::span(dst->bytes).subspan(offset, len);
  }

  static constexpr std::uint32_t num_tasks = 16;
  static constexpr std::size_t size = std::size_t{4} << 20;
  std::optional<MappedBytes> src;
  std::optional<MappedBytes> dst;
  Bufs bufs{256};
  std::optional<CompressRig> rig;
  std::vector<Buf*> held;
};

}  // namespace pydoca::conformance

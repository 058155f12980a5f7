#pragma once

/// What Sha must do on every backend that has a SHA engine.

#include <pydoca/capabilities.hpp>

#include "backend/conformance.hpp"
#include "rig/bytes.hpp"
#include "rig/library/sha_rig.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::conformance {

/// A source, a destination, and a started Sha between them.
class ShaConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    if (IsSkipped()) {
      return;
    }
    if (!can().sha) {
      GTEST_SKIP() << find_capability("sha").of(device->info()).reason;
    }
    src.emplace(device, size + 1);
    dst.emplace(device, std::size_t{64} * num_tasks);
    rig.emplace(device, pe, num_tasks);
    EXPECT_EQ(rig->sha->start(), Status::success);
  }
  void TearDown() override {
    if (!rig) {
      return;
    }
    static_cast<void>(rig->sha->stop());
    EXPECT_TRUE(progress_until(*pe, [&] { return rig->sha->state() == ContextState::idle; }));
    for (Buf* const buf : held) {
      EXPECT_EQ(buf->dec_refcount(), Status::success);
    }
    rig->sha->close();
  }

  /// The text, times times, at offset.
  Buf* source(std::string_view text, std::size_t times = 1, std::size_t offset = 0) {
    for (std::size_t i = 0; i < text.size() * times; ++i) {
      src->bytes[offset + i] = static_cast<std::byte>(text[i % text.size()]);
    }
    Buf* const buf = held.emplace_back(bufs.by_addr(*src, offset, text.size() * times + 1));
    EXPECT_EQ(buf->set_data_len(text.size() * times), Status::success);
    return buf;
  }
  Buf* target(std::size_t offset = 0, std::size_t len = 64) {
    return held.emplace_back(bufs.by_addr(*dst, offset, len));
  }
  bool wait_for(std::size_t completions) {
    return progress_until(*pe, [&] { return rig->completions.size() >= completions; });
  }
  /// The memory behind dst.
  std::string hex(std::size_t offset, std::size_t len) const {
    return to_hex(std::span(dst->bytes).subspan(offset, len));
  }

  static constexpr std::uint32_t num_tasks = 32;
  static constexpr std::size_t size = std::size_t{4} << 20;
  std::optional<MappedBytes> src;
  std::optional<MappedBytes> dst;
  Bufs bufs{256};
  std::optional<ShaRig> rig;
  std::vector<Buf*> held;
};

}  // namespace pydoca::conformance

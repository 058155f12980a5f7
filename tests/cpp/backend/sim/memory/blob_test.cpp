#include "backend/sim/memory/blob.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <vector>

namespace pydoca::sim {
namespace {

Key key_of(unsigned char first) {
  Key key;
  std::ranges::generate(key, [&] { return static_cast<std::byte>(first++); });
  return key;
}

Blob sample() {
  Blob blob;
  blob.epoch = 0x1122334455667788;
  blob.nonce = key_of(1);
  blob.owner_start_time = 987654321;
  blob.owner_uid = 1000;
  blob.owner_pid = 4242;
  blob.slot = 3;
  blob.base = 0x7f00'1234'5000;
  blob.length = 1U << 20;
  blob.access = Access::pci_read_only;
  blob.boot_id = key_of(50);
  blob.fabric_hash = fabric_hash("default");
  blob.socket_key = key_of(100);
  std::ranges::copy(std::string_view("0000:0b:00.0"), blob.pci_addr.begin());
  return blob;
}

TEST(Blob, ReadsWhatItWrote) {
  const auto bytes = encode(sample());
  Blob blob;
  ASSERT_EQ(parse(bytes, blob), Status::success);
  EXPECT_EQ(blob, sample());
}

TEST(Blob, KeepsExtremes) {
  Blob extreme = sample();
  extreme.base = 0;
  extreme.length = std::numeric_limits<std::uint64_t>::max();
  extreme.epoch = std::numeric_limits<std::uint64_t>::max();
  extreme.access = Access::pci_read_write;
  Blob blob;
  ASSERT_EQ(parse(encode(extreme), blob), Status::success);
  EXPECT_EQ(blob, extreme);
}

TEST(Blob, StartsWithItsMagicAndIsShort) {
  const auto bytes = encode(sample());
  EXPECT_EQ(std::memcmp(bytes.data(), "PYDOCAX1", 8), 0);
  EXPECT_LT(bytes.size(), 512U);
}

TEST(Blob, RefusesEverySingleBitFlip) {
  const auto original = encode(sample());
  for (std::size_t bit = 0; bit < 8 * original.size(); ++bit) {
    auto bytes = original;
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    Blob blob = sample();
    const Status status = parse(bytes, blob);
    const bool in_version = bit / 8 == 8 || bit / 8 == 9;
    EXPECT_EQ(status, in_version ? Status::unsupported_version : Status::invalid_value) << "bit " << bit;
    EXPECT_EQ(blob, sample()) << "bit " << bit << ": the result was touched";
  }
}

TEST(Blob, RefusesEveryByteValueOfEveryByte) {
  const auto original = encode(sample());
  for (std::size_t i = 0; i < original.size(); ++i) {
    for (unsigned value = 0; value < 256; ++value) {
      auto bytes = original;
      bytes[i] = static_cast<std::byte>(value);
      Blob blob;
      if (bytes != original) {
        EXPECT_NE(parse(bytes, blob), Status::success) << "byte " << i << " as " << value;
      }
    }
  }
}

TEST(Blob, RefusesEveryTruncation) {
  const auto bytes = encode(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // A copy of exactly that size, so that a sanitizer sees a read beyond it.
    const std::vector<std::byte> shorter(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    Blob blob;
    EXPECT_EQ(parse(shorter, blob), Status::invalid_value) << size << " bytes";
  }
}

TEST(Blob, RefusesEveryExtension) {
  const auto bytes = encode(sample());
  for (const std::size_t extra : {1U, 2U, 8U, 144U, 4096U}) {
    std::vector<std::byte> longer(bytes.begin(), bytes.end());
    longer.resize(bytes.size() + extra);
    Blob blob;
    EXPECT_EQ(parse(longer, blob), Status::invalid_value) << extra << " bytes more";
  }
}

TEST(Blob, RefusesConsistentNonsense) {
  // The checksum is right here: the fields themselves are looked at.
  std::vector<Blob> unsound(5, sample());
  unsound[0].length = 0;
  unsound[1].base = std::numeric_limits<std::uint64_t>::max() - unsound[1].length + 1;
  unsound[2].access = Access::local_read_only;
  unsound[3].access = Access::pci_read_only | Access::pci_read_write;
  unsound[4].access = Access::pci_read_only | Access::rdma_read;
  for (const Blob& wrong : unsound) {
    Blob blob;
    EXPECT_EQ(parse(encode(wrong), blob), Status::invalid_value) << &wrong - unsound.data();
  }
}

TEST(Blob, RefusesForeignBytes) {
  Blob blob;
  EXPECT_EQ(parse({}, blob), Status::invalid_value);
  EXPECT_EQ(parse(std::vector<std::byte>(blob_size), blob), Status::invalid_value);
  EXPECT_EQ(parse(std::vector<std::byte>(blob_size, std::byte{0xff}), blob), Status::invalid_value);
}

TEST(Blob, TellsFabricsApart) {
  EXPECT_NE(fabric_hash("default"), fabric_hash("defaulu"));
  EXPECT_EQ(fabric_hash("default"), fabric_hash("default"));
}

}  // namespace
}  // namespace pydoca::sim

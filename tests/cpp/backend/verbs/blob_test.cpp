#include "backend/verbs/memory/blob.hpp"

#include <gtest/gtest.h>

#include <random>

namespace pydoca::verbs {
namespace {

constexpr Gid one_gid{0xfe, 0x80, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
const MemoryBlob one_memory{.base = 0x7f0000001000,
                            .length = 12345,
                            .rkey = 0x1ff,
                            .access = Access::rdma_read | Access::rdma_atomic,
                            .gid = one_gid};
const CounterBlob one_counter{.address = 0x7f0000001008, .rkey = 77, .gid = one_gid};
const PairBlob one_pair{.number = 17, .first_packet = 0xabcdef, .lid = 3, .mtu = 5, .max_reads = 16, .gid = one_gid};

template <class Blob>
void expect_only_itself(const Blob& blob) {
  const std::vector<std::byte> bytes = encode(blob);
  Blob read;
  ASSERT_EQ(parse(bytes, read), Status::success);
  EXPECT_EQ(read, blob);
  EXPECT_LT(bytes.size(), 512U);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> changed = bytes;
      changed[i] ^= static_cast<std::byte>(1U << bit);
      EXPECT_NE(parse(changed, read), Status::success) << "byte " << i << ", bit " << bit;
    }
    EXPECT_EQ(parse(std::span(bytes).first(i), read), Status::invalid_value) << "cut at " << i;
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_EQ(parse(longer, read), Status::invalid_value);
  EXPECT_EQ(read, blob) << "a refused blob changes nothing";
}

TEST(VerbsBlob, OfMemoryIsReadAsItWasWritten) { expect_only_itself(one_memory); }
TEST(VerbsBlob, OfACounterIsReadAsItWasWritten) { expect_only_itself(one_counter); }
TEST(VerbsBlob, OfAPairIsReadAsItWasWritten) { expect_only_itself(one_pair); }

TEST(VerbsBlob, OfOneTypeIsNotOfAnother) {
  MemoryBlob none;
  CounterBlob no_counter;
  PairBlob no_pair;
  EXPECT_EQ(parse(encode(one_counter), none), Status::invalid_value);
  EXPECT_EQ(parse(encode(one_pair), no_counter), Status::invalid_value);
  EXPECT_EQ(parse(encode(one_memory), no_pair), Status::invalid_value);
}

TEST(VerbsBlob, OfAnotherVersionIsNamedSo) {
  std::vector<std::byte> bytes = encode(one_memory);
  bytes[8] = std::byte{2};
  MemoryBlob none;
  EXPECT_EQ(parse(bytes, none), Status::unsupported_version);
}

TEST(VerbsBlob, WithImpossibleFieldsIsRefused) {
  MemoryBlob none;
  for (const auto change : {+[](MemoryBlob& blob) { blob.length = 0; }, +[](MemoryBlob& blob) { blob.base = ~0ULL; },
                            +[](MemoryBlob& blob) { blob.access = Access{}; },
                            +[](MemoryBlob& blob) { blob.access = Access::pci_read_only; }}) {
    MemoryBlob blob = one_memory;
    change(blob);
    EXPECT_EQ(parse(encode(blob), none), Status::invalid_value);
  }
  PairBlob no_pair;
  EXPECT_EQ(parse(encode(PairBlob{.number = 1U << 24, .mtu = 3}), no_pair), Status::invalid_value);
  EXPECT_EQ(parse(encode(PairBlob{.number = 1, .mtu = 6}), no_pair), Status::invalid_value);
}

TEST(VerbsBlob, OfRandomBytesIsRefused) {
  std::mt19937 random(1);  // NOLINT(bugprone-random-generator-seed): each run must be the same
  MemoryBlob none;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> bytes(random() % 200);
    for (std::byte& byte : bytes) {
      byte = static_cast<std::byte>(random());
    }
    EXPECT_EQ(parse(bytes, none), Status::invalid_value);
  }
}

}  // namespace
}  // namespace pydoca::verbs

#include <pydoca/interrupt.hpp>
#include <pydoca/memory.hpp>

#include "rig/bytes.hpp"
#include "rig/expect_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fcntl.h>
#include <fstream>
#include <span>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace pydoca {
namespace {

TEST(Memory, IsZeroPageAlignedAndWritable) {
  const auto memory = Memory::allocate(10000);
  EXPECT_EQ(memory->size(), 10000U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->data()) % 4096, 0U);
  const std::span bytes(memory->data(), memory->size());
  EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; }));
  fill(bytes, std::byte{7});
  EXPECT_EQ(bytes.back(), std::byte{7});
}

TEST(Memory, IsFaultedIn) {
  constexpr std::size_t pages = 64;
  const auto memory = Memory::allocate(pages * 4096);
  std::vector<unsigned char> resident(pages);
  ASSERT_EQ(::mincore(memory->data(), memory->size(), resident.data()), 0);
  EXPECT_TRUE(std::ranges::all_of(resident, [](unsigned char page) { return (page & 1U) != 0; }));
}

TEST(Memory, CannotBeResized) {
  const auto memory = Memory::allocate(8192);
  EXPECT_EQ(::ftruncate(memory->fd(), 4096), -1);
  EXPECT_EQ(errno, EPERM);
  EXPECT_EQ(::ftruncate(memory->fd(), 1 << 20), -1);
  EXPECT_EQ(errno, EPERM);
}

TEST(Memory, ClosesOnExec) { EXPECT_EQ(::fcntl(Memory::allocate(1)->fd(), F_GETFD), FD_CLOEXEC); }

TEST(Memory, RefusesImpossibleSizes) {
  EXPECT_EQ(thrown_by([] { Memory::allocate(0); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([] { Memory::allocate(~std::size_t{0}); }), Status::no_memory);
  EXPECT_EQ(thrown_by([] { Memory::allocate(std::size_t{1} << 50); }), Status::no_memory);
  EXPECT_NE(reason_of([] { Memory::allocate(std::size_t{1} << 50); }).find("1125899906842624"), std::string::npos);
}

std::size_t free_huge_pages() {
  std::ifstream file("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages");
  std::size_t count = 0;
  file >> count;
  return count;
}

TEST(Memory, UsesReservedHugePagesOrSaysThatThereAreNone) {
  const auto allocate = [] { return Memory::allocate(5000, {.huge_pages = true}); };
  if (free_huge_pages() == 0) {
    EXPECT_EQ(thrown_by(allocate), Status::no_memory);
    EXPECT_NE(reason_of(allocate).find("nr_hugepages"), std::string::npos);
    return;
  }
  const auto memory = allocate();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->data()) % (2U << 20), 0U);
}

TEST(Memory, SealStopsNewWritersAndKeepsTheOldOne) {
  const auto memory = Memory::allocate(4096);
  EXPECT_FALSE(memory->is_sealed());
  memory->seal(true);
  memory->seal(false);
  EXPECT_TRUE(memory->is_sealed());
  EXPECT_TRUE(memory->is_sealed_against_writes());
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd(), 0), MAP_FAILED);
  memory->data()[0] = std::byte{1};
  void* const view = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, memory->fd(), 0);
  ASSERT_NE(view, MAP_FAILED);
  EXPECT_EQ(*static_cast<std::byte*>(view), std::byte{1});
  ::munmap(view, 4096);
}

TEST(FindMemory, FindsWhatLiesInside) {
  const auto memory = Memory::allocate(10000);
  const auto whole = find_memory(memory->data(), 10000);
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->memory, memory);
  EXPECT_EQ(whole->offset, 0U);
  const auto piece = find_memory(memory->data() + 777, 10000 - 777);
  ASSERT_TRUE(piece.has_value());
  EXPECT_EQ(piece->offset, 777U);
}

TEST(FindMemory, RefusesWhatSticksOut) {
  const auto memory = Memory::allocate(10000);
  EXPECT_FALSE(find_memory(memory->data(), 10001).has_value()) << "the rest of the last page is not the caller's";
  EXPECT_FALSE(find_memory(memory->data() + 10000, 1).has_value());
  EXPECT_FALSE(find_memory(memory->data() + 1, 10000).has_value());
  EXPECT_FALSE(find_memory(memory->data() + 1, ~std::size_t{0}).has_value());
  EXPECT_FALSE(find_memory(memory->data() - 1, 2).has_value());
  const int local = 0;
  EXPECT_FALSE(find_memory(&local, sizeof local).has_value());
}

TEST(Memory, ASignalEndsAnAllocation) {
  constexpr std::size_t large = std::size_t{32} << 20;
  set_interrupt_check([]() noexcept { return true; });
  EXPECT_EQ(thrown_by([] { Memory::allocate(large); }), Status::again);
  set_interrupt_check(nullptr);
  EXPECT_EQ(Memory::allocate(large)->size(), large);
}

TEST(FindMemory, ForgetsWhatHasGone) {
  auto memory = Memory::allocate(4096);
  const void* const address = memory->data();
  memory.reset();
  EXPECT_FALSE(find_memory(address, 1).has_value());
}

TEST(FindMemory, KeepsTheMemory) {
  auto memory = Memory::allocate(4096);
  std::byte* const data = memory->data();
  const auto location = find_memory(data, 4096);
  memory.reset();
  data[4095] = std::byte{9};
  EXPECT_EQ(location->memory->data()[4095], std::byte{9});
}

TEST(FindMemory, ServesSeveralThreads) {
  constexpr int rounds = 300;
  std::atomic<int> wrong{0};
  const auto work = [&] {
    for (int i = 0; i < rounds; ++i) {
      const auto memory = Memory::allocate(4096);
      const auto found = find_memory(memory->data() + 8, 8);
      wrong += found.has_value() && found->memory == memory && found->offset == 8 ? 0 : 1;
    }
  };
  std::thread one(work);
  std::thread other(work);
  one.join();
  other.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace pydoca

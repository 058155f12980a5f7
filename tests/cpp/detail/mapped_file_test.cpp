#include "detail/system/mapped_file.hpp"

#include "detail/system/guarded_copy.hpp"
#include "rig/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <span>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace pydoca::detail {
namespace {

constexpr std::size_t page = 4096;

/// Eight pages: two of memory without a file, four of the same memory or of a file of four pages, and two without.
class Memory {
 public:
  explicit Memory(bool of_file, int sharing = MAP_SHARED) {
    void* const all = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bytes_ = {static_cast<std::byte*>(all), size};
    if (of_file) {
      file_ = ::memfd_create("cut", MFD_CLOEXEC);
      EXPECT_EQ(::ftruncate(file_, 4 * page), 0);
      EXPECT_NE(::mmap(at(2), 4 * page, PROT_READ | PROT_WRITE, sharing | MAP_FIXED, file_, 0), MAP_FAILED);
    }
  }
  ~Memory() {
    ::munmap(bytes_.data(), size);
    ::close(file_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::byte* at(std::size_t number) const { return bytes_.data() + number * page; }
  void cut(std::size_t pages) const { EXPECT_EQ(::ftruncate(file_, static_cast<off_t>(pages * page)), 0); }

 private:
  static constexpr std::size_t size = 8 * page;

  std::span<std::byte> bytes_;
  int file_ = -1;
};

/// The kernel's own answer, and a copy of its list, as older kernels have nothing else.
class MappedFile : public testing::Test {
 protected:
  bool finds(const std::byte* addr, std::size_t len) const {
    const std::string copy = directory_.path() / "maps";
    std::ofstream(copy) << std::ifstream("/proc/self/maps").rdbuf();
    const bool found = has_mapped_file(addr, len);
    EXPECT_EQ(has_mapped_file(addr, len, copy.c_str()), found);
    return found;
  }

 private:
  TemporaryDirectory directory_;
};

TEST_F(MappedFile, IsFoundWhereItOverlapsTheRange) {
  for (const int sharing : {MAP_SHARED, MAP_PRIVATE}) {
    const Memory memory(true, sharing);
    EXPECT_TRUE(finds(memory.at(2), 4 * page));
    EXPECT_TRUE(finds(memory.at(3) + 1, 1));
    EXPECT_TRUE(finds(memory.at(0), 2 * page + 1));
    EXPECT_TRUE(finds(memory.at(6) - 1, 2));
    EXPECT_FALSE(finds(memory.at(0), 2 * page));
    EXPECT_FALSE(finds(memory.at(6), 2 * page));
  }
}

TEST_F(MappedFile, IsNotMemoryWithoutAFile) {
  const Memory shared(false);
  EXPECT_FALSE(finds(shared.at(0), 8 * page));
  const std::string heap(100, 'x');
  EXPECT_FALSE(finds(reinterpret_cast<const std::byte*>(heap.data()), heap.size()));
}

TEST_F(MappedFile, IsNotFoundWithoutProc) {
  const Memory memory(true);
  EXPECT_FALSE(has_mapped_file(memory.at(2), page, "/nonexistent"));
}

TEST(GuardedCopy, CopiesAsMemcpyDoes) {
  const Memory memory(true);
  const std::string text = "some bytes";
  std::array<std::byte, 10> back{};
  EXPECT_TRUE(copy_guarded(memory.at(2), reinterpret_cast<const std::byte*>(text.data()), text.size()));
  EXPECT_TRUE(copy_guarded(back.data(), memory.at(2), back.size()));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(back.data()), back.size()), text);
  EXPECT_TRUE(copy_guarded(memory.at(6), memory.at(2), 2 * page));
  EXPECT_EQ(*memory.at(6), back[0]);
}

TEST(GuardedCopy, OutlivesAFileThatIsCut) {
  const Memory memory(true);
  memory.cut(1);
  EXPECT_TRUE(copy_guarded(memory.at(0), memory.at(2), page));
  EXPECT_FALSE(copy_guarded(memory.at(0), memory.at(2), page + 1)) << "reads beyond the end";
  EXPECT_FALSE(copy_guarded(memory.at(2), memory.at(0), page + 1)) << "writes beyond the end";
  EXPECT_FALSE(copy_guarded(memory.at(3), memory.at(4), 1)) << "both";
  EXPECT_TRUE(is_there(memory.at(2)));
  EXPECT_FALSE(is_there(memory.at(3)));
}

}  // namespace
}  // namespace pydoca::detail

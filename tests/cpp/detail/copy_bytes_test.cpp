#include "detail/copy_bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace pydoca::detail {
namespace {

TEST(CopyStreaming, CopiesLikeMemcpyAtEveryAlignmentAndSize) {
  constexpr std::size_t room = 1024;
  std::vector<std::byte> src(room);
  for (std::size_t i = 0; i < room; ++i) {
    src[i] = static_cast<std::byte>(i * 31 + 7);
  }
  for (std::size_t from = 0; from < 3; ++from) {
    for (std::size_t to = 0; to < 66; ++to) {
      for (const std::size_t size : {0U, 1U, 31U, 63U, 64U, 65U, 127U, 128U, 129U, 255U, 700U}) {
        std::vector<std::byte> dst(room, std::byte{0xEE});
        std::vector<std::byte> expected = dst;
        std::copy_n(src.begin() + static_cast<std::ptrdiff_t>(from), size,
                    expected.begin() + static_cast<std::ptrdiff_t>(to));
        copy_streaming(dst.data() + to, src.data() + from, size);
        ASSERT_EQ(dst, expected) << from << ' ' << to << ' ' << size;
      }
    }
  }
}

}  // namespace
}  // namespace pydoca::detail

#include "detail/system_reason.hpp"

#include <gmock/gmock.h>

#include <cerrno>

namespace pydoca::detail {
namespace {

TEST(SystemReason, SaysWhatToDoAboutALimit) {
  EXPECT_THAT(system_reason(EMFILE), testing::HasSubstr("ulimit -n"));
  EXPECT_THAT(system_reason(ENFILE), testing::HasSubstr("fs.file-max"));
  EXPECT_EQ(system_reason(ENOENT), "No such file or directory");
}

}  // namespace
}  // namespace pydoca::detail

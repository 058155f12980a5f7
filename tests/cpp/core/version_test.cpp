#include <pydoca/version.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace pydoca {
namespace {

TEST(Version, ThatOfTheLibraryIsThatOfItsHeaders) {
  EXPECT_EQ(version_runtime(), version());
  EXPECT_THAT(std::string(version()),
              testing::MatchesRegex("[0-9]+[.][0-9]+[.][0-9]+((a|b|rc)[0-9]+)?([.]post[0-9]+)?([.]dev[0-9]+)?"));
}

}  // namespace
}  // namespace pydoca

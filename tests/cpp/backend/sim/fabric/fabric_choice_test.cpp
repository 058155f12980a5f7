#include "backend/sim/fabric/socket_file.hpp"
#include "rig/expect_error.hpp"
#include "rig/temporary_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>

namespace pydoca::sim {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// The directory that PYDOCA_FABRIC_DIR names.
class ChosenDirectory : public ::testing::Test {
 protected:
  ChosenDirectory() { choose(root_); }
  ~ChosenDirectory() override { ::unsetenv("PYDOCA_FABRIC_DIR"); }
  static void choose(const std::string& path) { ::setenv("PYDOCA_FABRIC_DIR", path.c_str(), 1); }
  static std::string refusal() {
    return reason_of([] { FabricDirectory("lab").open(); });
  }

  const TemporaryDirectory directory_;
  const fs::path root_ = directory_.path();
};

TEST_F(ChosenDirectory, HoldsTheFabrics) {
  EXPECT_EQ(FabricDirectory("lab").path(), (root_ / "lab").string());
  EXPECT_TRUE(FabricDirectory("lab").open());
  choose(root_.string() + "//");
  EXPECT_EQ(FabricDirectory("lab").path(), (root_ / "lab").string());
  leave(FabricDirectory("lab"));
  EXPECT_TRUE(fs::is_empty(root_)) << "it stays itself";
}

TEST_F(ChosenDirectory, IsNotChosenByAnEmptyVariable) {
  choose("");
  EXPECT_EQ(FabricDirectory("lab").path().find(root_.string()), std::string::npos);
}

TEST_F(ChosenDirectory, MustBeADirectoryThatIsThere) {
  choose("relative");
  EXPECT_THAT(refusal(), HasSubstr("absolute"));
  choose(root_ / "absent");
  EXPECT_THAT(refusal(), HasSubstr("make the directory, or mount it"));
  std::ofstream(root_ / "file") << "x";
  choose(root_ / "file");
  EXPECT_THAT(refusal(), HasSubstr("not a directory"));
  EXPECT_EQ(thrown_by([] { FabricDirectory("lab"); }), Status::invalid_value);
}

TEST_F(ChosenDirectory, MustBeThisUsersAlone) {
  ::chmod(root_.c_str(), 0770);
  EXPECT_THAT(refusal(), HasSubstr("chmod 700 "));
  ::chmod(root_.c_str(), 0755);
  EXPECT_TRUE(FabricDirectory("lab").open()) << "others may see that it is there";
  leave(FabricDirectory("lab"));
}

class DirectoryOfAnother : public ChosenDirectory {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) {
      GTEST_SKIP() << "needs root, to make a directory of another user";
    }
  }
  static constexpr uid_t other_user = 65534;
};

TEST_F(DirectoryOfAnother, IsRefusedWithAdviceThatCanBeFollowed) {
  ASSERT_EQ(::chown(root_.c_str(), other_user, other_user), 0);
  EXPECT_THAT(refusal(), HasSubstr("belongs to user 65534, not to 0; set PYDOCA_FABRIC_DIR"));
}

/// The directory is as in /tmp: only its owner can remove it.
TEST_F(DirectoryOfAnother, InTheWayIsNotToBeRemoved) {
  fs::create_directory(root_ / "lab");
  ASSERT_EQ(::chown((root_ / "lab").c_str(), other_user, other_user), 0);
  EXPECT_THAT(refusal(), HasSubstr("set PYDOCA_FABRIC_DIR, on both sides, to a directory of yours"));
  EXPECT_EQ(refusal().find("remove"), std::string::npos);
}

TEST_F(DirectoryOfAnother, ThatIsALinkIsNotFollowed) {
  fs::create_directory_symlink("/", root_ / "lab");
  ASSERT_EQ(::lchown((root_ / "lab").c_str(), other_user, other_user), 0);
  EXPECT_THAT(refusal(), HasSubstr("belongs to user 65534"));
}

}  // namespace
}  // namespace pydoca::sim

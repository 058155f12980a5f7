#include "detail/system/available_memory.hpp"

#include "rig/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace pydoca::detail {
namespace {

/// A machine with 1,000 KiB available, and files as the kernel has them.
class AvailableMemory : public testing::Test {
 protected:
  AvailableMemory() { write("proc/meminfo", "MemTotal: 4000 kB\nMemAvailable:    1000 kB\n"); }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = root() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::filesystem::path root() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
};

TEST_F(AvailableMemory, WithoutControlGroupsIsTheMachines) {
  EXPECT_EQ(available_memory(root()), 1000U * 1024);
  std::filesystem::remove_all(root() / "proc");
  EXPECT_EQ(available_memory(root()), std::numeric_limits<std::uint64_t>::max());
}

TEST_F(AvailableMemory, IsWhatTheTightestGroupHasLeft) {
  write("proc/self/cgroup", "0::/pod/job\n");
  write("sys/fs/cgroup/pod/memory.max", "9000\n");
  write("sys/fs/cgroup/pod/memory.current", "5000\n");
  write("sys/fs/cgroup/pod/memory.stat", "anon 4000\ninactive_file 500\n");
  write("sys/fs/cgroup/pod/job/memory.max", "max\n");
  write("sys/fs/cgroup/pod/job/memory.current", "4000\n");
  EXPECT_EQ(available_memory(root()), 4500U);
  write("sys/fs/cgroup/pod/job/memory.max", "4100\n");
  EXPECT_EQ(available_memory(root()), 100U);
  write("sys/fs/cgroup/pod/job/memory.current", "5000\n");
  EXPECT_EQ(available_memory(root()), 0U);
}

TEST_F(AvailableMemory, SeesTheOutermostGroupOfAContainer) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "3000\n");
  write("sys/fs/cgroup/memory.current", "1000\n");
  EXPECT_EQ(available_memory(root()), 2000U);
}

TEST_F(AvailableMemory, KnowsTheFirstVersionToo) {
  write("proc/self/cgroup", "7:cpu,cpuacct:/x\n3:memory:/docker\n0::/\n");
  write("sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "8000\n");
  write("sys/fs/cgroup/memory/docker/memory.usage_in_bytes", "6000\n");
  write("sys/fs/cgroup/memory/docker/memory.stat", "inactive_file 9\ntotal_inactive_file 1000\n");
  EXPECT_EQ(available_memory(root()), 3000U);
}

}  // namespace
}  // namespace pydoca::detail

#include "pydoca/cpus.hpp"

#include <gtest/gtest.h>

#include <sched.h>
#include <thread>

namespace pydoca {
namespace {

TEST(Cpus, OneIsWhatTheThreadMayRunOn) {
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  EXPECT_EQ(has_one_cpu(), CPU_COUNT(&allowed) == 1);
  std::thread([] {
    cpu_set_t present;
    CPU_ZERO(&present);
    CPU_SET(static_cast<unsigned>(::sched_getcpu()), &present);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(present), &present), 0);
    EXPECT_TRUE(has_one_cpu());
  }).join();
  EXPECT_EQ(has_one_cpu(), CPU_COUNT(&allowed) == 1);
}

}  // namespace
}  // namespace pydoca

#include "detail/thread/thread_token.hpp"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace pydoca::detail {
namespace {

TEST(ThreadToken, StaysTheSameInAThread) {
  EXPECT_NE(thread_token(), 0U);
  EXPECT_EQ(thread_token(), thread_token());
}

TEST(ThreadToken, IsNoOtherThreadsEvenOfADeadOne) {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  std::jthread([&] { first = thread_token(); }).join();
  std::jthread([&] { second = thread_token(); }).join();
  EXPECT_NE(first, second);
  EXPECT_NE(first, thread_token());
  EXPECT_NE(second, thread_token());
}

TEST(ThreadToken, ChangesInAForkedChild) {
  const std::uint64_t token = thread_token();
  const std::uint32_t forks = fork_count();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::_exit(thread_token() != token && fork_count() == forks + 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(fork_count(), forks);
}

}  // namespace
}  // namespace pydoca::detail

// The n-th system call of one name fails in a program, for every n and every name: the engine's call that needed it
// throws a typed error, or does without it; nothing leaks or hangs, and the program then runs.
#include "failure/sweep.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace pydoca::failure {
namespace {

class FailedSystemCall : public testing::TestWithParam<Scenario> {
 protected:
  static Plan plan(const char* call, int error) { return {.kind = Plan::Kind::call, .call = call, .error = error}; }
  static void expect_none(std::vector<Plan> plans) {
    const Result result = run({.scenario = GetParam(), .plans = std::move(plans)});
    EXPECT_TRUE(result.failures.empty()) << result.failures;
  }
};

TEST_P(FailedSystemCall, WithoutDescriptors) {
  expect_none({plan("socket", EMFILE), plan("accept4", EMFILE), plan("memfd_create", EMFILE), plan("eventfd", EMFILE),
               plan("timerfd_create", EMFILE), plan("epoll_create1", ENFILE), plan("inotify_init1", EMFILE),
               plan("open", EMFILE), plan("fcntl:dup", EMFILE)});
}

TEST_P(FailedSystemCall, WithoutMemoryOrRoom) {
  expect_none({plan("memfd_create", ENOMEM), plan("ftruncate", ENOSPC), plan("mmap", ENOMEM), plan("epoll_ctl", ENOSPC),
               plan("epoll_ctl", ENOMEM), plan("inotify_add_watch", ENOSPC), plan("accept4", ENOMEM),
               plan("sendmsg", ENOBUFS), plan("recvmsg", ENOMEM)});
}

TEST_P(FailedSystemCall, Interrupted) {
  expect_none({plan("accept4", EINTR), plan("sendmsg", EINTR), plan("recvmsg", EINTR), plan("connect", EINTR),
               plan("open", EINTR), plan("read", EINTR), plan("process_vm_readv", EINTR)});
}

TEST_P(FailedSystemCall, NotPermitted) {
  expect_none({plan("fcntl", EPERM), plan("process_vm_readv", EPERM), plan("process_vm_writev", EPERM),
               plan("connect", EACCES), plan("listen", EADDRINUSE), plan("accept4", ECONNABORTED)});
}

TEST_P(FailedSystemCall, OnceMoreLater) {
  expect_none({plan("accept4", EAGAIN), plan("sendmsg", EAGAIN), plan("recvmsg", EAGAIN), plan("connect", EAGAIN)});
}

TEST_P(FailedSystemCall, ShortTransfers) {
  expect_none({plan("read", short_transfer), plan("process_vm_readv", short_transfer),
               plan("process_vm_writev", short_transfer)});
}

INSTANTIATE_TEST_SUITE_P(Scenarios, FailedSystemCall, testing::ValuesIn(scenarios().begin(), scenarios().end()),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace pydoca::failure

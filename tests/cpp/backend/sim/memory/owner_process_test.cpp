#include "backend/sim/memory/owner_process.hpp"

#include "backend/sim/memory/process.hpp"
#include "rig/expect_error.hpp"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <linux/sched.h>
#include <memory>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pydoca::sim {
namespace {

/// Memory that has the same address in every child of this process.
std::array<std::byte, 4096> memory{};

std::uint64_t address() noexcept { return reinterpret_cast<std::uint64_t>(memory.data()); }

/// A forked process that holds its end of a connection until it is killed; with that number, if one is given.
class Owner {
 public:
  explicit Owner(pid_t number = 0) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    clone_args arguments{};
    arguments.exit_signal = SIGCHLD;
    if (number != 0) {
      arguments.set_tid = reinterpret_cast<std::uint64_t>(&number);
      arguments.set_tid_size = 1;
    }
    pid_ = static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
    if (pid_ == 0) {
      ::close(ends[0]);
      while (true) ::pause();
    }
    connection_ = detail::Fd(ends[0]);
    ::close(ends[1]);
  }
  ~Owner() { kill(); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  pid_t pid() const noexcept { return pid_; }
  std::unique_ptr<OwnerProcess> open() const {
    return std::make_unique<OwnerProcess>(pid_, start_time(pid_), connection_.get(), true);
  }
  void kill() noexcept {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  detail::Fd connection_;
};

TEST(OwnerProcessTest, ReadsAndWritesTheMemoryOfAnotherProcess) {
  const Owner owner;
  ASSERT_GT(owner.pid(), 0);
  const auto process = owner.open();
  std::byte value{5};
  EXPECT_EQ(process->write(address() + 9, &value, 1), Status::success);
  value = {};
  EXPECT_EQ(process->read(address() + 9, &value, 1), Status::success);
  EXPECT_EQ(value, std::byte{5});
  EXPECT_EQ(memory[9], std::byte{0}) << "this process has pages of its own";
}

TEST(OwnerProcessTest, MemoryThatIsNotThereFails) {
  const Owner owner;
  const auto process = owner.open();
  std::byte value{5};
  EXPECT_EQ(process->write(0, &value, 1), Status::io_failed);
  EXPECT_EQ(process->read(0, &value, 1), Status::io_failed);
  EXPECT_EQ(value, std::byte{0}) << "what may be another process's is not left in the destination";
}

/// The system gives numbers again; here the next process gets that of the owner, and has memory at the same address.
TEST(OwnerProcessTest, AnotherProcessWithTheSameNumberIsNotReached) {
  Owner owner;
  const auto process = owner.open();
  const pid_t number = owner.pid();
  owner.kill();
  memory[3] = std::byte{7};
  const Owner stranger(number);
  memory[3] = {};
  if (stranger.pid() != number) {
    GTEST_SKIP() << "this user cannot choose a process's number";
  }
  std::byte value{9};
  EXPECT_EQ(process->write(address() + 3, &value, 1), Status::io_failed);
  EXPECT_EQ(process->read(address() + 3, &value, 1), Status::io_failed);
  EXPECT_EQ(value, std::byte{0});
  EXPECT_EQ(stranger.open()->read(address() + 3, &value, 1), Status::success);
  EXPECT_EQ(value, std::byte{7}) << "the stranger's memory is as it was";
  EXPECT_EQ(thrown_by([&] { OwnerProcess(number, 1, 0, true); }), Status::not_connected) << "of another start time";
}

}  // namespace
}  // namespace pydoca::sim

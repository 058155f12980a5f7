#pragma once

#include "pydoca/sim.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/fabric/service.hpp"
#include "rig/process/descriptors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace pydoca {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int slack = 20;  ///< how much slower instrumented code may be
#else
inline constexpr int slack = 1;
#endif

/// Whether the service of this process has started.
inline bool has_service() {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    if (name == "pydoca-memory") {
      return true;
    }
  }
  return false;
}
inline constexpr std::size_t service_descriptors = 2;

/// A process in a fabric of its own. The test fails if files or descriptors remain at its end.
class FabricTest : public ::testing::Test {
 protected:
  FabricTest() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    static int count = 0;
    std::string name = test->name();
    std::ranges::replace(name, '/', '-');  // a test with parameters has slashes
    fabric_ = "test-" + std::to_string(::getpid()) + "-" + std::to_string(++count) + "-" + name.substr(0, 40);
    sim::set_fabric(fabric_);
    descriptors_ = count_descriptors() + (has_service() ? 0 : service_descriptors);
  }
  ~FabricTest() override {
    sim::Service::instance();  // stays, once a context was started; not sooner, as the test may fork before
    EXPECT_EQ(count_descriptors(), descriptors_) << "descriptors leaked";
    const sim::FabricDirectory directory(fabric_);
    sim::SocketFile::remove_all(directory);  // those of exports, which exit() removes
    sim::leave(directory);                   // sweeps those of killed processes
    EXPECT_FALSE(std::filesystem::exists(directory.path())) << "files were left";
  }

  std::string fabric_;

 private:
  std::size_t descriptors_ = 0;
};

inline bool is_asleep(const std::filesystem::path& thread) {
  std::ifstream file(thread / "stat");
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(") ");
  return name_end != std::string::npos && line[name_end + 2] == 'S';
}

/// Waits before a fork. A starting thread locks the allocator of AddressSanitizer, and a fork at that moment leaves the
/// lock taken in the child for ever. (glibc frees the lock of its own allocator in the child.)
inline void wait_until_other_threads_sleep() {
  const auto all_asleep = [] {
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      if (thread.path().filename() != std::to_string(::getpid()) && !is_asleep(thread.path())) {
        return false;
      }
    }
    return true;
  };
  while (!all_asleep()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// A child's exit code, once it has ended; -1 when a signal ended it.
inline int exit_code_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// A forked process that runs body and exits with its result; made before this process has threads. Killed at the
/// end.
class ChildProcess {
 public:
  template <typename Body>
  explicit ChildProcess(Body body) : pid_(::fork()) {
    if (pid_ == 0) {
      ::alarm(100);  // ends an orphan
      ::_exit(run(body));
    }
  }
  ~ChildProcess() {
    if (pid_ > 0) {
      kill();
    }
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  void kill() {
    ::kill(pid_, SIGKILL);
    static_cast<void>(wait());
  }
  /// The child's exit code.
  int wait() { return exit_code_of(std::exchange(pid_, 0)); }

 private:
  template <typename Body>
  static int run(Body& body) {
    try {
      return body();
    } catch (const std::exception& error) {
      ::fprintf(stderr, "in the child process: %s\n", error.what());
      return 99;
    }
  }

  pid_t pid_;
};

}  // namespace pydoca

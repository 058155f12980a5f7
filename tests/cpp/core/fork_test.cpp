// A child process that is forked from a running engine may destroy all objects, and do nothing else.
#include "rig/expect_error.hpp"
#include "rig/library/dma_rig.hpp"
#include "rig/process/process_rig.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <sys/wait.h>
#include <unistd.h>

namespace pydoca {
namespace {

/// All objects of a process, in an order in which they may be destroyed.
struct Everything {
  fake::Backend backend;
  std::shared_ptr<Device> device = backend.open_device();
  std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
  MappedBytes src{device, std::size_t{4} << 20};
  MappedBytes dst{device, std::size_t{4} << 20};
  Bufs bufs{16};
  DmaRig rig{device, pe, 16};
};

/// Starts the rig's context and waits until its workers sleep.
void start_with_workers_asleep(DmaRig& rig) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  wait_until_other_threads_sleep();
}

// Workers do not hold a lock that the child needs, and the child does not wait for a worker. The time limit of ctest
// ends a child that hangs.
TEST(Fork, AChildDestroysARunningEngineWithoutWaitingForItsWorkers) {
  for (int round = 0; round < 20; ++round) {
    std::optional<Everything> all;
    all.emplace();
    ASSERT_NO_FATAL_FAILURE(start_with_workers_asleep(all->rig));
    std::vector<Buf*> held;
    for (std::size_t i = 0; i < 4; ++i) {
      held.push_back(all->bufs.by_data(all->src, i << 20, 1U << 20));
      held.push_back(all->bufs.by_addr(all->dst, i << 20, 1U << 20));
      all->rig.submitted(held[2 * i], held[2 * i + 1], i);
    }
    // Odd rounds fork while the workers sleep.
    if (round % 2 == 1) {
      all->rig.progress_until(4);
    }
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      all.reset();
      ::_exit(0);
    }
    EXPECT_EQ(exit_code_of(child), 0);
    all->rig.progress_until(4);
    for (Buf* const buf : held) {
      EXPECT_EQ(buf->dec_refcount(), Status::success);
    }
    EXPECT_EQ(all->rig.dma->stop(), Status::success);
  }
}

#ifndef __SANITIZE_THREAD__  // ThreadSanitizer ends a child that starts threads
TEST(Fork, AChildWithWorkersOfItsOwnDestroysTheInheritedOnes) {
  std::optional<Everything> all;
  all.emplace();
  ASSERT_NO_FATAL_FAILURE(start_with_workers_asleep(all->rig));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool good = false;
    {
      Everything own;
      good = own.rig.dma->start() == Status::success;
      all.reset();
      good = good && own.rig.dma->stop() == Status::success;
    }
    ::_exit(good ? 0 : 1);
  }
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_EQ(all->rig.dma->stop(), Status::success);
}
#endif

TEST(Fork, AChildCannotStartOnAnInheritedDevice) {
  Everything all;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto pe = ProgressEngine::create();
    DmaRig rig(all.device, pe, 1);
    ::_exit(thrown_by([&] { return rig.dma->start(); }) == Status::bad_state ? 0 : 1);
  }
  EXPECT_EQ(exit_code_of(child), 0);
}

TEST(Fork, AChildOpensADeviceOfItsOwn) {
  Everything all;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto device = all.backend.open_device();
    const bool own = device != all.device && device->ordinal() != all.device->ordinal();
    const auto pe = ProgressEngine::create();
    DmaRig rig(device, pe, 1);
    MappedBytes src{device, 64};
    MappedBytes dst{device, 64};
    Bufs bufs{2};
    src.bytes[5] = std::byte{7};
    EXPECT_EQ(rig.dma->start(), Status::success);
    rig.submitted(bufs.by_data(src, 0, 64), bufs.by_addr(dst, 0, 64));
    rig.progress_until(1);
    const bool opened_again = all.backend.open_device() == device;
    ::_exit(own && opened_again && rig.completions[0].status == Status::success && dst.bytes[5] == std::byte{7} ? 0
                                                                                                                : 1);
  }
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_EQ(all.backend.open_device(), all.device);
}

}  // namespace
}  // namespace pydoca

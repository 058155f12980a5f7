#include "pydoca/handles.hpp"
#include <pydoca/progress_engine.hpp>

#include "detail/ready_node.hpp"
#include "rig/bytes.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/dma_rig.hpp"
#include "rig/process/process_rig.hpp"

#include <gtest/gtest.h>

#include <array>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace pydoca {
namespace {

bool readable(const ProgressEngine& pe) {
  pollfd event{.fd = pe.notification_handle(), .events = POLLIN, .revents = 0};
  return ::poll(&event, 1, 0) == 1;
}

/// The epoll set of an application, which contains an engine's handle.
class Epoll {
 public:
  explicit Epoll(const ProgressEngine& pe) : fd_(::epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = pe.notification_handle()}};
    EXPECT_EQ(::epoll_ctl(fd_, EPOLL_CTL_ADD, pe.notification_handle(), &event), 0);
  }
  ~Epoll() { ::close(fd_); }
  Epoll(const Epoll&) = delete;
  Epoll& operator=(const Epoll&) = delete;

  /// Sleeps without time-out.
  void wait() const {
    epoll_event event{};
    while (::epoll_wait(fd_, &event, 1, -1) != 1) {
    }
  }

 private:
  int fd_;
};

class ProgressEngineTest : public DmaTest {
 protected:
  void SetUp() override { ASSERT_EQ(rig.dma->start(), Status::success); }
};

TEST_F(ProgressEngineTest, HandlesAtMostOneCompletionACall) {
  for (std::uint64_t i = 0; i < 5; ++i) {
    submit_small(i, i * 64);
  }
  for (std::size_t i = 1; i <= 5; ++i) {
    EXPECT_EQ(pe->progress(), 1);
    EXPECT_EQ(rig.completions.size(), i);
  }
  EXPECT_EQ(pe->progress(), 0);
}

TEST_F(ProgressEngineTest, SpinsUntilOneThingAdvances) {
  submit_small(0, 0);
  submit_small(1, 64);
  EXPECT_EQ(pe->spin(0), 0);
  EXPECT_EQ(pe->spin(100), 1);
  EXPECT_EQ(rig.completions.size(), 1U);
  EXPECT_EQ(pe->spin(100), 1);
  EXPECT_EQ(pe->spin(100), 0);
}

TEST_F(ProgressEngineTest, DrainsUpToALimit) {
  for (std::uint64_t i = 0; i < 10; ++i) {
    submit_small(i, i * 64);
  }
  EXPECT_EQ(pe->drain(0), 0U);
  EXPECT_EQ(pe->drain(4), 4U);
  EXPECT_EQ(pe->drain(100), 6U);
  EXPECT_EQ(pe->drain(100), 0U);
}

TEST_F(ProgressEngineTest, CountsTasksInFlightOfAllItsContexts) {
  DmaRig other(device, pe, 8);
  ASSERT_EQ(other.dma->start(), Status::success);
  submit_small(1, 0);
  submit_small(2, 64);
  Buf* const src = bufs.by_data(src_memory, 128, 64);
  Buf* const dst = bufs.by_addr(dst_memory, 128, 64);
  other.submitted(src, dst);
  EXPECT_EQ(pe->num_inflight_tasks(), 3U);
  EXPECT_EQ(rig.dma->num_inflight_tasks(), 2U);
  EXPECT_EQ(other.dma->num_inflight_tasks(), 1U);
  EXPECT_EQ(pe->num_contexts(), 2U);
  rig.in_callback = [&](DmaMemcpyTask&) {
    EXPECT_EQ(rig.dma->num_inflight_tasks(), 2U - rig.completions.size()) << "a task in its callback no longer counts";
  };
  EXPECT_EQ(pe->drain(10), 3U);
  EXPECT_EQ(pe->num_inflight_tasks(), 0U);
  Bufs::free({src, dst});
  EXPECT_EQ(other.dma->stop(), Status::success);
}

TEST_F(ProgressEngineTest, TakesTurnsAmongContexts) {
  DmaRig other(device, pe, 64);
  ASSERT_EQ(other.dma->start(), Status::success);
  std::vector<int> order;
  rig.in_callback = [&](DmaMemcpyTask&) { order.push_back(0); };
  other.in_callback = [&](DmaMemcpyTask&) { order.push_back(1); };
  for (std::size_t i = 0; i < 8; ++i) {
    submit_small(i, i * 64);
  }
  for (std::size_t i = 8; i < 16; ++i) {
    Buf* const src = held.emplace_back(bufs.by_data(src_memory, i * 64, 64));
    Buf* const dst = held.emplace_back(bufs.by_addr(dst_memory, i * 64, 64));
    other.submitted(src, dst, i);
  }
  pe->drain(100);
  ASSERT_EQ(order.size(), 16U);
  for (std::size_t i = 1; i < order.size(); ++i) {
    EXPECT_NE(order[i], order[i - 1]);
  }
  EXPECT_EQ(other.dma->stop(), Status::success);
}

TEST_F(ProgressEngineTest, ASmallTasksLoopDoesNotStarveALargeTask) {
  // A context that resubmits from its callback keeps the engine's own list from ever being empty.
  DmaRig busy(device, pe, 1);
  ASSERT_EQ(busy.dma->start(), Status::success);
  Buf* const src = bufs.by_data(src_memory, 4 * large_size, 64);
  Buf* const dst = bufs.by_addr(dst_memory, 4 * large_size, 64);
  bool enough = false;
  busy.in_callback = [&](DmaMemcpyTask& task) {
    EXPECT_EQ(task.dst()->reset_data_len(), Status::success);
    if (!enough) {
      EXPECT_EQ(task.submit(), Status::success);
    }
  };
  busy.submitted(src, dst);
  submit_large(1, 0);
  rig.progress_until(1);
  enough = true;
  pe->drain(10);
  EXPECT_EQ(busy.dma->stop(), Status::success);
  Bufs::free({src, dst});
}

TEST_F(ProgressEngineTest, RefusesProgressAndModeChangeInACallback) {
  std::uint8_t nested = 99;
  std::size_t drained = 99;
  Status mode = Status::success;
  rig.in_callback = [&](DmaMemcpyTask&) {
    nested = pe->progress();
    drained = pe->drain(10);
    mode = thrown_by([&] { pe->set_event_mode(EventMode::progress_all); });
    EXPECT_EQ(thrown_by([&] { pe->release_thread(); }), Status::in_use);
  };
  submit_small(1, 0);
  submit_small(2, 64);
  EXPECT_EQ(pe->progress(), 1);
  EXPECT_EQ(nested, 0);
  EXPECT_EQ(drained, 0U);
  EXPECT_EQ(mode, Status::bad_state);
  EXPECT_EQ(rig.completions.size(), 1U);
  rig.in_callback = nullptr;
  EXPECT_EQ(pe->progress(), 1);
}

TEST_F(ProgressEngineTest, BelongsToTheFirstThreadThatUsesIt) {
  submit_small(1, 0);
  std::uint8_t advanced = 99;
  std::size_t drained = 99;
  Status check = Status::unknown;
  Status start = Status::unknown;
  Status connect = Status::unknown;
  Status mode = Status::unknown;
  std::string description;
  DmaRig other(device, pe, 1);
  const auto unconnected = Dma::create(device);
  std::jthread([&] {
    advanced = pe->progress();
    drained = pe->drain(10);
    check = pe->check_thread();
    description = pe->describe_thread();
    start = thrown_by([&] { return other.dma->start(); });
    connect = thrown_by([&] { pe->connect(unconnected); });
    mode = thrown_by([&] { pe->set_event_mode(EventMode::progress_all); });
  }).join();
  EXPECT_EQ(advanced, 0);
  EXPECT_EQ(drained, 0U);
  EXPECT_EQ(check, Status::not_permitted);
  EXPECT_EQ(start, Status::not_permitted);
  EXPECT_EQ(connect, Status::not_permitted);
  EXPECT_EQ(unconnected->progress_engine(), nullptr);
  EXPECT_EQ(mode, Status::not_permitted);
  EXPECT_EQ(pe->event_mode(), EventMode::progress_selective);
  EXPECT_NE(description.find(std::to_string(::gettid())), std::string::npos) << description;
  EXPECT_EQ(description.find('_'), std::string::npos) << description << ": no name of one language";
  EXPECT_EQ(rig.completions.size(), 0U);
  EXPECT_EQ(pe->progress(), 1);
}

TEST_F(ProgressEngineTest, IsHandedToAnotherThread) {
  submit_small(1, 0);
  EXPECT_EQ(thrown_by([&] { pe->release_thread(); }), Status::in_use);
  pe->drain(1);
  pe->release_thread();
  std::jthread([&] {
    submit_small(2, 64);
    EXPECT_EQ(pe->progress(), 1);
    pe->release_thread();
  }).join();
  EXPECT_EQ(rig.completions.size(), 2U);
  EXPECT_EQ(pe->check_thread(), Status::success);
}

TEST_F(ProgressEngineTest, SubmitsWhatAnotherThreadHandsOver) {
  Buf* const src = bufs.by_data(src_memory, 0, 64);
  Buf* const dst = bufs.by_addr(dst_memory, 0, 64);
  held = {src, dst};
  DmaMemcpyTask& task = rig.task(src, dst, 7);
  pe->request_notification();
  EXPECT_FALSE(readable(*pe));
  std::jthread([&] {
    EXPECT_EQ(pe->submit_threadsafe(task), Status::success);
    EXPECT_EQ(pe->submit_threadsafe(task), Status::bad_state) << "the task was handed over already";
  }).join();
  EXPECT_TRUE(readable(*pe));
  EXPECT_EQ(task.submit(), Status::bad_state);
  EXPECT_EQ(task.free(), Status::in_use);
  EXPECT_EQ(src->dec_refcount(), Status::not_permitted) << "its bufs are kept until its turn";
  EXPECT_EQ(task.set_src(dst), Status::in_use);
  EXPECT_EQ(pe->num_inflight_tasks(), 0U);
  EXPECT_EQ(pe->progress(), 1);
  EXPECT_EQ(pe->num_inflight_tasks(), 1U);
  rig.progress_until(1);
  EXPECT_EQ(rig.completions[0], (DmaRig::Completion{7, Status::success, false}));
  EXPECT_FALSE(src->in_flight());
}

TEST_F(ProgressEngineTest, TellsOfAHandedOverSubmissionThatFailsInItsCompletion) {
  EXPECT_EQ(pe->submit_threadsafe(rig.task(nullptr, nullptr, 1)), Status::success);
  EXPECT_EQ(pe->progress(), 1);
  ASSERT_EQ(rig.completions.size(), 1U);
  EXPECT_EQ(rig.completions[0], (DmaRig::Completion{1, Status::invalid_value, true}));
  EXPECT_EQ(rig.dma->state(), ContextState::running) << "the task did not reach the device";
  EXPECT_EQ(pe->progress(), 0);
}

TEST_F(ProgressEngineTest, AContextStopsOnlyOnceWhatWasHandedOverHasCompleted) {
  EXPECT_EQ(pe->submit_threadsafe(rig.task(nullptr, nullptr, 1)), Status::success);
  EXPECT_EQ(rig.dma->stop(), Status::in_progress);
  rig.progress_until_idle();
  ASSERT_EQ(rig.completions.size(), 1U);
  EXPECT_TRUE(rig.completions[0].by_error_callback);
}

TEST_F(ProgressEngineTest, ForgetsWhatWasHandedOverOfADestroyedContext) {
  {
    DmaRig other(device, pe, 2);
    EXPECT_EQ(other.dma->start(), Status::success);
    EXPECT_EQ(pe->submit_threadsafe(other.task(nullptr, nullptr)), Status::success);
    EXPECT_EQ(pe->submit_threadsafe(rig.task(nullptr, nullptr, 1)), Status::success);
    EXPECT_EQ(pe->submit_threadsafe(other.task(nullptr, nullptr)), Status::success);
  }
  while (pe->progress() != 0) {
  }
  EXPECT_EQ(rig.completions.size(), 1U);
}

TEST_F(ProgressEngineTest, TakesOnlyTasksOfItsOwn) {
  const auto other = ProgressEngine::create();
  DmaMemcpyTask& task = rig.task(nullptr, nullptr);
  EXPECT_EQ(other->submit_threadsafe(task), Status::invalid_value);
  EXPECT_EQ(task.free(), Status::success);
}

/// Each thread hands over its tasks one by one, while the owner sleeps whenever there is nothing to do. A lost wake-up
/// would make the test wait for ever; the time limit of ctest detects this.
TEST_F(ProgressEngineTest, LosesNothingThatSeveralThreadsHandOver) {
  constexpr std::uint64_t threads = 2;
  constexpr std::uint64_t each = 200;
  const Epoll epoll(*pe);
  std::vector<DmaMemcpyTask*> tasks;
  for (std::uint64_t i = 0; i < threads * each; ++i) {
    held.push_back(bufs.by_data(src_memory, i * 64, 64));
    held.push_back(bufs.by_addr(dst_memory, i * 64, 64));
    tasks.push_back(&rig.task(held[2 * i], held[2 * i + 1], i));
  }
  std::vector<std::jthread> producers;
  for (std::uint64_t thread = 0; thread < threads; ++thread) {
    producers.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < each; ++i) {
        EXPECT_EQ(pe->submit_threadsafe(*tasks[thread * each + i]), Status::success);
      }
    });
  }
  while (rig.completions.size() < threads * each) {
    if (pe->progress() == 0) {
      pe->request_notification();
      epoll.wait();
      pe->clear_notification();
    }
  }
  std::array<std::uint64_t, threads> next{0, each};
  for (const DmaRig::Completion& completion : rig.completions) {
    EXPECT_EQ(completion.status, Status::success);
    EXPECT_EQ(completion.user_data, next.at(completion.user_data / each)++) << "tasks of one thread keep their order";
  }
}

TEST_F(ProgressEngineTest, IsOfNoUseInAForkedChild) {
  submit_small(1, 0);
  const BufRef src(bufs.by_data(src_memory, 0, 64));
  const BufRef dst(bufs.by_addr(dst_memory, 64, 64));
  DmaMemcpyTask& task = rig.task(src.get(), dst.get());
  wait_until_other_threads_sleep();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool refused =
        pe->check_thread() == Status::bad_state && pe->progress() == 0 && pe->drain(1) == 0 &&
        task.submit() == Status::bad_state && task.try_submit() == Status::bad_state &&
        task.explain(Status::bad_state).find("fork") != std::string::npos &&
        pe->describe_thread().find("fork") != std::string::npos &&
        pe->describe_thread().find("this is process " + std::to_string(::getpid())) != std::string::npos &&
        pe->submit_threadsafe(task) == Status::bad_state &&
        thrown_by([&] { return rig.dma->stop(); }) == Status::bad_state;
    ::_exit(refused ? 0 : 1);
  }
  EXPECT_EQ(exit_code_of(child), 0);
  EXPECT_EQ(task.free(), Status::success);
  EXPECT_EQ(pe->progress(), 1) << "the child did not take the completion";
}

TEST(ProgressEngine, ClosesAndRefusesContexts) {
  fake::Backend backend;
  const auto device = backend.open_device();
  const auto pe = ProgressEngine::create();
  pe->close();
  pe->close();
  EXPECT_EQ(thrown_by([&] { pe->connect(Dma::create(device)); }), Status::bad_state);
}

TEST(ProgressEngine, HasNothingToDoWhenNew) {
  const auto pe = ProgressEngine::create();
  EXPECT_EQ(pe->progress(), 0);
  EXPECT_EQ(pe->num_inflight_tasks(), 0U);
  EXPECT_EQ(pe->event_mode(), EventMode::progress_selective);
  EXPECT_FALSE(pe->has_pending());
  EXPECT_FALSE(readable(*pe));
  pe->request_notification();
  EXPECT_FALSE(readable(*pe));
  EXPECT_FALSE(pe->wait(0));
}

TEST_F(ProgressEngineTest, ArmedWithSomethingPendingIsReadableAtOnce) {
  submit_small(1, 0);
  EXPECT_FALSE(readable(*pe)) << "not armed";
  EXPECT_TRUE(pe->has_pending());
  pe->request_notification();
  EXPECT_TRUE(readable(*pe));
  pe->clear_notification();
  EXPECT_FALSE(readable(*pe));
  EXPECT_EQ(pe->progress(), 1);
  EXPECT_TRUE(pe->wait(0) == pe->has_pending());
}

TEST_F(ProgressEngineTest, ArmedThenSubmittedIsReadable) {
  pe->request_notification();
  EXPECT_FALSE(readable(*pe));
  submit_small(1, 0);
  EXPECT_TRUE(readable(*pe));
  pe->clear_notification();
  EXPECT_EQ(pe->progress(), 1);
}

TEST_F(ProgressEngineTest, SelectiveModeNeedsAClear) {
  submit_small(1, 0);
  pe->request_notification();
  EXPECT_EQ(pe->progress(), 1);
  pe->request_notification();
  EXPECT_TRUE(readable(*pe)) << "the earlier wake-up was not cleared";
  pe->clear_notification();
  pe->request_notification();
  EXPECT_FALSE(readable(*pe));
}

TEST_F(ProgressEngineTest, AllModeClearsByRequesting) {
  pe->set_event_mode(EventMode::progress_all);
  EXPECT_EQ(pe->event_mode(), EventMode::progress_all);
  submit_small(1, 0);
  pe->request_notification();
  EXPECT_TRUE(readable(*pe));
  EXPECT_EQ(pe->progress(), 1);
  pe->request_notification();
  EXPECT_FALSE(readable(*pe));
}

TEST_F(ProgressEngineTest, WakesOnLargeTasksInBothModes) {
  const Epoll epoll(*pe);
  for (const EventMode mode : {EventMode::progress_selective, EventMode::progress_all}) {
    pe->set_event_mode(mode);
    rig.completions.clear();
    for (std::size_t i = 0; i < 40; ++i) {
      submit_large(i, (i % 8) * large_size);
      while (rig.completions.size() <= i) {
        pe->request_notification();
        epoll.wait();
        if (mode == EventMode::progress_selective) {
          pe->clear_notification();
        }
        // drain() does not assist: the workers do all of the copying.
        pe->drain(100);
      }
      free_held();
    }
  }
}

TEST_F(ProgressEngineTest, WakesAStoppingContextsLastStep) {
  const Epoll epoll(*pe);
  DmaMemcpyTask& task = rig.task(nullptr, nullptr);
  ASSERT_EQ(rig.dma->stop(), Status::in_progress);
  pe->request_notification();
  EXPECT_FALSE(readable(*pe));
  ASSERT_EQ(task.free(), Status::success);
  epoll.wait();
  pe->clear_notification();
  EXPECT_EQ(pe->progress(), 1);
  EXPECT_EQ(rig.dma->state(), ContextState::idle);
}

TEST_F(ProgressEngineTest, WaitSleepsUntilSomethingIsPending) {
  submit_large(1, 0);
  while (rig.completions.empty()) {
    if (pe->wait(-1)) {
      pe->drain(10);
    }
  }
  EXPECT_FALSE(pe->wait(1));
}

/// Watches an eventfd, and reads it only when told to.
class Watcher final : public detail::ReadyNode {
 public:
  using ReadyNode::join;

  int fd = -1;
  bool takes = false;
  int looks = 0;

 protected:
  bool progress_one(bool& /*more*/) noexcept override {
    ++looks;
    eventfd_t count = 0;
    return takes && ::eventfd_read(fd, &count) == 0;
  }
};

class WatchTest : public ProgressEngineTest {
 protected:
  WatchTest() {
    watcher_.fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    watcher_.join(pe->ready_list());
    pe->watch(watcher_.fd, EPOLLIN, watcher_);
  }
  ~WatchTest() override { ::close(watcher_.fd); }

  Watcher watcher_;
};

TEST_F(WatchTest, ProgressesTheNodeOfAReadableDescriptor) {
  watcher_.takes = true;
  EXPECT_EQ(pe->progress(), 0);
  ASSERT_EQ(::eventfd_write(watcher_.fd, 1), 0);
  EXPECT_TRUE(readable(*pe));
  EXPECT_EQ(pe->progress(), 1);
  EXPECT_EQ(pe->progress(), 0);
  pe->unwatch(watcher_.fd);
  ASSERT_EQ(::eventfd_write(watcher_.fd, 1), 0);
  EXPECT_EQ(pe->progress(), 0);
}

TEST_F(WatchTest, ADescriptorThatStaysReadableEndsTheCallAllTheSame) {
  ASSERT_EQ(::eventfd_write(watcher_.fd, 1), 0);
  EXPECT_EQ(pe->progress(), 0);
  EXPECT_EQ(watcher_.looks, 1);
  EXPECT_EQ(pe->drain(10), 0U);
  pe->unwatch(watcher_.fd);
}

TEST_F(WatchTest, BusyContextsDoNotStarveADescriptor) {
  watcher_.takes = true;
  ASSERT_EQ(::eventfd_write(watcher_.fd, 1), 0);
  int rounds = 0;
  rig.in_callback = [&](DmaMemcpyTask& task) {
    EXPECT_EQ(task.dst()->reset_data_len(), Status::success);
    if (watcher_.looks == 0 && ++rounds < 100'000) {
      EXPECT_EQ(task.submit(), Status::success);
    }
  };
  submit_small(1, 0);
  while (pe->progress() == 1) {
  }
  EXPECT_EQ(watcher_.looks, 1);
  EXPECT_LT(rounds, 1000);
  pe->unwatch(watcher_.fd);
}

TEST_F(WatchTest, RefusesABadDescriptor) {
  EXPECT_EQ(thrown_by([&] { pe->watch(-1, EPOLLIN, watcher_); }), Status::operating_system);
  pe->unwatch(-1);
  pe->unwatch(watcher_.fd);
}

TEST(ProgressEngines, RunInManyThreadsOnOneDevice) {
  fake::Backend backend;
  const auto device = backend.open_device();
  constexpr std::size_t size = 256 * 1024;
  std::vector<std::jthread> threads;
  for (std::size_t index = 0; index < 3; ++index) {
    threads.emplace_back([&device, index] {
      const auto pe = ProgressEngine::create();
      DmaRig rig(device, pe, 8);
      ASSERT_EQ(rig.dma->start(), Status::success);
      MappedBytes src(device, size);
      MappedBytes dst(device, size);
      fill(src.bytes, static_cast<std::byte>(index + 1));
      Bufs bufs(4);
      for (std::size_t round = 0; round < 100; ++round) {
        const std::size_t len = round % 2 == 0 ? size : 64;
        Buf* const from = bufs.by_data(src, 0, len);
        Buf* const to = bufs.by_addr(dst, 0, len);
        rig.submitted(from, to, round);
        rig.progress_until(round + 1);
        ASSERT_EQ(rig.completions.back().status, Status::success);
        Bufs::free({from, to});
      }
      EXPECT_EQ(src.bytes, dst.bytes);
      EXPECT_EQ(rig.dma->stop(), Status::success);
    });
  }
}

}  // namespace
}  // namespace pydoca

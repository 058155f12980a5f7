#include <pydoca/backend/notifier.hpp>
#include <pydoca/context.hpp>

#include "detail/ready_node.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/dma_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <type_traits>

namespace pydoca {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using State = ContextState;
using Transition = DmaRig::Transition;

// Users can neither notify a context's engine nor hand the context to a backend.
static_assert(!std::is_convertible_v<Context*, backend::Notifier*> &&
              !std::is_convertible_v<Context*, detail::ReadyNode*>);

class ContextTest : public DmaTest {
 protected:
  static constexpr Transition to_running{State::idle, State::running};
  static constexpr Transition to_stopping{State::running, State::stopping};
  static constexpr Transition to_idle{State::stopping, State::idle};

  /// Each task completed exactly once.
  void expect_each_completed_once(std::size_t count) const {
    std::set<std::uint64_t> seen;
    for (const DmaRig::Completion& completion : rig.completions) {
      EXPECT_TRUE(seen.insert(completion.user_data).second) << completion.user_data;
      EXPECT_EQ(completion.by_error_callback, completion.status != Status::success);
    }
    EXPECT_EQ(seen.size(), count);
  }
  std::size_t count_of(Status status) const {
    return static_cast<std::size_t>(std::ranges::count(rig.completions, status, &DmaRig::Completion::status));
  }
};

TEST_F(ContextTest, StartsAtOnceAndTellsItsStates) {
  EXPECT_EQ(rig.dma->state(), State::idle);
  EXPECT_EQ(rig.dma->start(), Status::success);
  EXPECT_EQ(rig.dma->state(), State::running);
  EXPECT_EQ(rig.dma->stop(), Status::success);
  EXPECT_EQ(rig.dma->state(), State::idle);
  EXPECT_THAT(rig.transitions, ElementsAre(to_running, Transition{State::running, State::idle}));
}

TEST_F(ContextTest, StopOnIdleDoesNothing) {
  EXPECT_EQ(rig.dma->stop(), Status::success);
  EXPECT_THAT(rig.transitions, IsEmpty());
}

TEST_F(ContextTest, NeedsAProgressEngineToStart) {
  const auto lonely = Dma::create(device);
  lonely->set_memcpy_conf([](Task&, std::uint64_t, std::uint64_t) noexcept {},
                          [](Task&, std::uint64_t, std::uint64_t) noexcept {}, 1);
  EXPECT_EQ(thrown_by([&] { return lonely->start(); }), Status::not_connected);
  EXPECT_EQ(lonely->state(), State::idle);
}

TEST_F(ContextTest, NeedsAConfigurationToStart) {
  const auto bare = Dma::create(device);
  pe->connect(bare);
  EXPECT_EQ(thrown_by([&] { return bare->start(); }), Status::invalid_value);
  EXPECT_EQ(bare->state(), State::idle);
}

TEST_F(ContextTest, RefusesToStartTwice) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  EXPECT_EQ(thrown_by([&] { return rig.dma->start(); }), Status::bad_state);
  EXPECT_EQ(rig.dma->state(), State::running);
}

TEST_F(ContextTest, ConnectsOnceAndOnlyIdle) {
  EXPECT_EQ(thrown_by([&] { pe->connect(rig.dma); }), Status::not_permitted);
  const auto other = ProgressEngine::create();
  EXPECT_EQ(thrown_by([&] { other->connect(rig.dma); }), Status::not_permitted);
  EXPECT_EQ(thrown_by([&] { other->connect(nullptr); }), Status::invalid_value);
  ASSERT_EQ(rig.dma->start(), Status::success);
  EXPECT_EQ(thrown_by([&] { other->connect(rig.dma); }), Status::bad_state);
  EXPECT_EQ(other->num_contexts(), 0U);
}

TEST_F(ContextTest, RefusesConfigurationUnlessIdle) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  const auto callback = [](Task&, std::uint64_t, std::uint64_t) noexcept {};
  EXPECT_EQ(thrown_by([&] { rig.dma->set_memcpy_conf(callback, callback, 1); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { rig.dma->set_ordered_completions(true); }), Status::bad_state);
}

TEST_F(ContextTest, RefusesToCloseUnlessIdle) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  EXPECT_EQ(thrown_by([&] { rig.dma->close(); }), Status::in_use);
  ASSERT_EQ(rig.dma->stop(), Status::success);
  EXPECT_FALSE(rig.dma->is_closed());
  rig.dma->close();
  rig.dma->close();
  EXPECT_TRUE(rig.dma->is_closed());
  EXPECT_EQ(thrown_by([&] { return rig.dma->start(); }), Status::bad_state);
  EXPECT_EQ(pe->num_contexts(), 0U);
}

TEST_F(ContextTest, KeepsItsEngineFromClosing) {
  EXPECT_EQ(thrown_by([&] { pe->close(); }), Status::in_use);
  ASSERT_EQ(rig.dma->start(), Status::success);
  ASSERT_EQ(rig.dma->stop(), Status::success);
  EXPECT_EQ(thrown_by([&] { pe->close(); }), Status::in_use) << "stopping is not enough";
  rig.dma->close();
  pe->close();
}

TEST_F(ContextTest, KeepsItsDeviceFromClosing) {
  src_memory.mmap->close();
  dst_memory.mmap->close();
  EXPECT_EQ(thrown_by([&] { device->close(); }), Status::in_use);
  rig.dma->close();
  device->close();
}

TEST_F(ContextTest, StopWithAnUnfreedTaskWaitsForIt) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  DmaMemcpyTask& task = rig.task(nullptr, nullptr);
  EXPECT_EQ(rig.dma->stop(), Status::in_progress);
  EXPECT_EQ(pe->progress(), 0);
  EXPECT_EQ(rig.dma->state(), State::stopping);
  EXPECT_EQ(rig.dma->stop(), Status::in_progress);

  EXPECT_EQ(task.submit(), Status::bad_state);
  DmaMemcpyTask* another = nullptr;
  EXPECT_EQ(rig.dma->memcpy(nullptr, nullptr, 0, another), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { rig.dma->close(); }), Status::in_use);

  EXPECT_EQ(task.free(), Status::success);
  EXPECT_EQ(rig.dma->state(), State::stopping) << "one more progress delivers idle";
  EXPECT_EQ(pe->progress(), 1);
  EXPECT_EQ(rig.dma->state(), State::idle);
  EXPECT_THAT(rig.transitions, ElementsAre(to_running, to_stopping, to_idle));
  EXPECT_EQ(pe->progress(), 0);
}

TEST_F(ContextTest, StopAfterTheLastFreeNeedsNoMoreProgress) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  DmaMemcpyTask& task = rig.task(nullptr, nullptr);
  EXPECT_EQ(rig.dma->stop(), Status::in_progress);
  EXPECT_EQ(task.free(), Status::success);
  EXPECT_EQ(rig.dma->stop(), Status::success);
  EXPECT_EQ(rig.dma->state(), State::idle);
  EXPECT_EQ(pe->progress(), 0);
}

TEST_F(ContextTest, StopDeliversWhatTheDeviceHadDone) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  for (std::uint64_t i = 0; i < 10; ++i) {
    submit_small(i, i * 64);
  }
  EXPECT_EQ(rig.dma->stop(), Status::in_progress);
  EXPECT_THAT(rig.completions, IsEmpty()) << "only progress delivers completions";
  rig.progress_until_idle();
  expect_each_completed_once(10);
  EXPECT_EQ(rig.dma->num_inflight_tasks(), 0U);
  EXPECT_THAT(rig.transitions, ElementsAre(to_running, to_stopping, to_idle));
}

TEST_F(ContextTest, StopFlushesUnpostedTasks) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  for (std::uint64_t i = 0; i < 5; ++i) {
    Buf* const src = bufs.by_data(src_memory, i * 64, 64);
    Buf* const dst = bufs.by_addr(dst_memory, i * 64, 64);
    held.insert(held.end(), {src, dst});
    ASSERT_EQ(rig.task(src, dst, i).submit(SubmitFlags::none), Status::success);
  }
  EXPECT_EQ(rig.dma->stop(), Status::in_progress);
  rig.progress_until_idle();
  expect_each_completed_once(5);
  EXPECT_EQ(count_of(Status::shutdown), 5U);
}

TEST_F(ContextTest, StopFlushesLargeTasksExactlyOnce) {
  for (int round = 0; round < 10; ++round) {
    rig.completions.clear();
    rig.transitions.clear();
    ASSERT_EQ(rig.dma->start(), Status::success);
    // Each has a destination of its own: two tasks that write to the same bytes are the caller's race.
    for (std::uint64_t i = 0; i < 7; ++i) {
      submit_large(i, i * large_size);
      submit_small(100 + i, 7 * large_size + i * 64);
    }
    EXPECT_EQ(rig.dma->num_inflight_tasks(), 14U);
    EXPECT_EQ(rig.dma->stop(), Status::in_progress);
    rig.progress_until_idle();
    expect_each_completed_once(14);
    EXPECT_EQ(count_of(Status::success) + count_of(Status::shutdown), 14U);
    EXPECT_THAT(rig.transitions, ElementsAre(to_running, to_stopping, to_idle));
    EXPECT_EQ(rig.dma->failure(), Status::success) << "a stop is not a failure";
    EXPECT_EQ(pe->num_inflight_tasks(), 0U);
    free_held();
  }
}

TEST_F(ContextTest, StopInACallbackAnswersInProgress) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  Status answer = Status::unknown;
  rig.in_callback = [&](DmaMemcpyTask& task) {
    EXPECT_EQ(task.free(), Status::success);
    answer = rig.dma->stop();
    EXPECT_EQ(rig.dma->state(), State::stopping) << "though every task is freed";
  };
  submit_small(1, 0);
  rig.progress_until(1);
  EXPECT_EQ(answer, Status::in_progress);
  EXPECT_EQ(pe->progress(), 1);
  EXPECT_EQ(rig.dma->state(), State::idle);
}

TEST_F(ContextTest, StopInTheStateCallbackIsHarmless) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  rig.dma->set_state_changed(
      [](std::uint64_t, Context& context, State, State) noexcept { static_cast<void>(context.stop()); });
  EXPECT_EQ(rig.dma->stop(), Status::success);
  EXPECT_EQ(rig.dma->state(), State::idle);
  ASSERT_EQ(rig.dma->start(), Status::success);
  EXPECT_EQ(rig.dma->state(), State::idle) << "stopped in the callback that reported RUNNING";
}

TEST_F(ContextTest, AFailedTaskStopsTheContextAndFlushesTheRest) {
  // DOCA's scenario: 255 tasks, the third of which has an empty source.
  ASSERT_EQ(rig.dma->start(), Status::success);
  for (std::uint64_t i = 0; i < 255; ++i) {
    Buf* const src = bufs.by_data(src_memory, i * 1024, 1024);
    Buf* const dst = bufs.by_addr(dst_memory, i * 1024, 1024);
    held.insert(held.end(), {src, dst});
    if (i == 2) {
      ASSERT_EQ(src->reset_data_len(), Status::success);
    }
    ASSERT_EQ(rig.task(src, dst, i).submit(), Status::success) << "submit validates nothing";
  }
  rig.progress_until_idle();
  expect_each_completed_once(255);
  for (std::uint64_t i = 0; i < 255; ++i) {
    const Status expected = i < 2 ? Status::success : i == 2 ? Status::io_failed : Status::shutdown;
    EXPECT_EQ(rig.completions[i], (DmaRig::Completion{i, expected, i >= 2}));
  }
  EXPECT_EQ(rig.dma->failure(), Status::io_failed);
  EXPECT_THAT(rig.transitions, ElementsAre(to_running, to_stopping, to_idle));
  EXPECT_EQ(rig.dma->stop(), Status::success);
}

TEST_F(ContextTest, RunsAgainAfterAFailure) {
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(rig.dma->start(), Status::success);
    EXPECT_EQ(rig.dma->failure(), Status::success);
    submit_small(1, 0);
    rig.submitted(nullptr, nullptr, 2);
    rig.progress_until_idle();
    EXPECT_EQ(rig.dma->failure(), Status::io_failed);
    EXPECT_EQ(count_of(Status::io_failed), 1U);
    rig.completions.clear();
    free_held();
  }
  ASSERT_EQ(rig.dma->start(), Status::success);
  submit_small(1, 0);
  rig.progress_until(1);
  EXPECT_EQ(rig.completions.front().status, Status::success);
}

TEST_F(ContextTest, IsIdleAfterAFailureOnlyWhenEveryTaskIsFreed) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  rig.free_tasks = false;
  DmaMemcpyTask& task = rig.submitted(nullptr, nullptr);
  rig.progress_until(1);
  EXPECT_EQ(task.status(), Status::io_failed);
  EXPECT_EQ(pe->progress(), 0);
  EXPECT_EQ(rig.dma->state(), State::stopping);
  EXPECT_EQ(task.submit(), Status::bad_state);
  EXPECT_EQ(task.free(), Status::success);
  EXPECT_EQ(pe->progress(), 1);
  EXPECT_EQ(rig.dma->state(), State::idle);
}

TEST_F(ContextTest, ReconfiguresBetweenRuns) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  ASSERT_EQ(rig.dma->stop(), Status::success);
  const auto callback = [](Task&, std::uint64_t, std::uint64_t) noexcept {};
  rig.dma->set_memcpy_conf(callback, callback, 5);
  EXPECT_EQ(rig.dma->num_tasks(), 5U);
  rig.dma->set_memcpy_conf(callback, callback, 1);
  ASSERT_EQ(rig.dma->start(), Status::success);
  EXPECT_EQ(rig.dma->num_tasks(), 1U);
  DmaMemcpyTask& only = rig.task(nullptr, nullptr);
  DmaMemcpyTask* second = nullptr;
  EXPECT_EQ(rig.dma->memcpy(nullptr, nullptr, 0, second), Status::no_memory);
  EXPECT_EQ(rig.dma->explain_allocation(Status::no_memory, 0, "memcpy"),
            "dma memcpy: every one of the context's 1 tasks is taken; wait for one and drop or free() it, or give the "
            "context a larger num_tasks");
  EXPECT_EQ(only.free(), Status::success);
}

TEST_F(ContextTest, ExplainsWhyItIsNotReadyForTasks) {
  EXPECT_EQ(rig.dma->explain_allocation(Status::bad_state, 0, "memcpy"),
            "dma memcpy: its context is not running; start it first");
}

TEST_F(ContextTest, DestroyedWhileRunningLetsGoOfItsBufs) {
  auto doomed = std::make_unique<DmaRig>(device, pe, 16);
  ASSERT_EQ(doomed->dma->start(), Status::success);
  Buf* const small_src = bufs.by_data(src_memory, 0, 64);
  Buf* const small_dst = bufs.by_addr(dst_memory, 0, 64);
  Buf* const large_src = bufs.by_data(src_memory, large_size, large_size);
  Buf* const large_dst = bufs.by_addr(dst_memory, large_size, large_size);
  doomed->submitted(small_src, small_dst);
  doomed->submitted(large_src, large_dst);
  EXPECT_TRUE(large_dst->in_flight());
  EXPECT_EQ(large_src->dec_refcount(), Status::not_permitted);
  EXPECT_EQ(pe->num_inflight_tasks(), 2U);

  doomed.reset();
  EXPECT_EQ(pe->num_inflight_tasks(), 0U);
  EXPECT_EQ(pe->num_contexts(), 1U);
  EXPECT_EQ(pe->progress(), 0);
  for (Buf* const buf : {small_src, small_dst, large_src, large_dst}) {
    EXPECT_FALSE(buf->in_flight());
    EXPECT_EQ(buf->dec_refcount(), Status::success);
  }
}

TEST_F(ContextTest, AHotRemovedDeviceFailsEveryTask) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  submit_small(1, 0);
  backend.removed = true;
  EXPECT_TRUE(device->removed());
  submit_small(2, 64);
  rig.progress_until_idle();
  EXPECT_EQ(rig.completions[0].status, Status::success) << "it was done before";
  EXPECT_EQ(rig.completions[1], (DmaRig::Completion{2, Status::driver, true}));
  EXPECT_EQ(rig.dma->failure(), Status::driver);
}

TEST_F(ContextTest, AHotRemovedDeviceFailsLargeTasksUnderWay) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  for (std::uint64_t i = 0; i < 7; ++i) {
    submit_large(i, i * large_size);
  }
  backend.removed = true;
  submit_small(7, 7 * large_size);
  rig.progress_until_idle();
  expect_each_completed_once(8);
  EXPECT_GE(count_of(Status::driver), 1U);
  EXPECT_EQ(rig.dma->failure(), Status::driver);
}

TEST_F(ContextTest, NamesTheFailureThatStoppedIt) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  backend.removed = true;
  submit_small(1, 0);
  rig.progress_until_idle();
  EXPECT_EQ(rig.dma->explain_allocation(Status::bad_state, 0, "memcpy"),
            "dma memcpy: its context has stopped because of a failure (DOCA_ERROR_DRIVER: " +
                std::string(error_descr(Status::driver)) + "); start it again");
  rig.dma->explain_failure("the first");
  rig.dma->explain_failure("a later one");
  EXPECT_EQ(rig.dma->failure_reason(), "the first");
}

TEST_F(ContextTest, CountsItsTasksByTheirOutcomeOverAllRuns) {
  ASSERT_EQ(rig.dma->start(), Status::success);
  submit_small(1, 0);
  submit_small(2, 64);
  EXPECT_EQ(rig.dma->stats().submitted, 2U);
  rig.progress_until(2);
  backend.removed = true;
  submit_small(3, 128);
  rig.progress_until_idle();
  const TaskStats stats = rig.dma->stats();
  EXPECT_EQ(stats.submitted, 3U);
  EXPECT_EQ(stats.completed, 2U);
  EXPECT_EQ(stats.failed, 1U);
  EXPECT_EQ(stats.cancelled, 0U);
  EXPECT_EQ(pe->stats().tasks.completed, 2U);
  EXPECT_EQ(pe->stats().tasks.failed, 1U);
}

TEST_F(ContextTest, CountsLooksInVainAndSleeps) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(pe->progress(), 0);
  }
  EXPECT_EQ(pe->stats().vain_looks, 3U);
  EXPECT_FALSE(pe->wait(0));
  EXPECT_EQ(pe->stats().sleeps, 1U);
  EXPECT_EQ(pe->stats().wake_ups, 0U);
}

TEST_F(ContextTest, KeepsUserDataAndName) {
  const auto context = Dma::create(device);
  EXPECT_EQ(context->user_data(), 0U);
  context->set_user_data(3);
  EXPECT_EQ(context->user_data(), 3U);
  EXPECT_EQ(context->kind(), "dma");
  EXPECT_EQ(context->device(), device);
  EXPECT_EQ(context->progress_engine(), nullptr);
  EXPECT_EQ(rig.dma->progress_engine(), pe);
}

}  // namespace
}  // namespace pydoca

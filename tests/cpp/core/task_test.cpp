#include <pydoca/task.hpp>

#include "rig/library/dma_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace pydoca {
namespace {

class TaskTest : public DmaTest {
 protected:
  void SetUp() override { ASSERT_EQ(rig.dma->start(), Status::success); }

  Buf* small_src(std::size_t offset = 0) { return held.emplace_back(bufs.by_data(src_memory, offset, 64)); }
  Buf* small_dst(std::size_t offset = 0, std::size_t len = 64) {
    return held.emplace_back(bufs.by_addr(dst_memory, offset, len));
  }
};

#ifdef PYDOCA_CHECKS
TEST_F(TaskTest, IsTakenAndFreedInTheThreadOfItsEngineOnly) {
  DmaMemcpyTask& task = rig.task(small_src(), small_dst());
  rig.pe->progress();  // the engine is this thread's
  DmaMemcpyTask* other = nullptr;
  std::thread([&] {
    EXPECT_EQ(rig.dma->memcpy(small_src(), small_dst(), 0, other), Status::not_permitted);
    EXPECT_EQ(task.free(), Status::not_permitted);
  }).join();
  EXPECT_EQ(other, nullptr);
  EXPECT_EQ(rig.dma->num_allocated_tasks(), 1U);
  EXPECT_EQ(task.free(), Status::success);
}
#endif

TEST_F(TaskTest, SaysWhichThreadMaySubmitIt) {
  DmaMemcpyTask& task = rig.task(small_src(), small_dst());
  rig.pe->progress();  // the engine is this thread's
  std::thread([&] {
    EXPECT_EQ(task.submit(), Status::not_permitted);
    EXPECT_THAT(task.explain(Status::not_permitted), testing::HasSubstr("belongs to thread"));
  }).join();
  EXPECT_EQ(task.free(), Status::success);
}

TEST_F(TaskTest, IsIdleThenSubmittedThenIdleThenFree) {
  rig.free_tasks = false;
  DmaMemcpyTask& task = rig.task(small_src(), small_dst(), 42);
  EXPECT_EQ(task.state(), Task::State::idle);
  EXPECT_EQ(&task.context(), rig.dma.get());
  EXPECT_EQ(task.user_data(), 42U);
  ASSERT_EQ(task.submit(), Status::success);
  EXPECT_EQ(task.state(), Task::State::submitted);
  EXPECT_EQ(task.status(), Status::in_progress);
  EXPECT_EQ(rig.dma->num_inflight_tasks(), 1U);
  rig.progress_until(1);
  EXPECT_EQ(task.state(), Task::State::idle);
  EXPECT_EQ(task.status(), Status::success);
  EXPECT_EQ(rig.dma->num_inflight_tasks(), 0U);
  EXPECT_EQ(rig.dma->num_allocated_tasks(), 1U);
  EXPECT_EQ(task.free(), Status::success);
  EXPECT_EQ(task.state(), Task::State::free);
  EXPECT_EQ(rig.dma->num_allocated_tasks(), 0U);
}

TEST_F(TaskTest, AreNoMoreThanConfigured) {
  std::vector<DmaMemcpyTask*> tasks(512);
  for (DmaMemcpyTask*& task : tasks) {
    ASSERT_EQ(rig.dma->memcpy(nullptr, nullptr, 0, task), Status::success);
  }
  DmaMemcpyTask* one_more = nullptr;
  EXPECT_EQ(rig.dma->memcpy(nullptr, nullptr, 0, one_more), Status::no_memory);
  EXPECT_EQ(one_more, nullptr);
  ASSERT_EQ(tasks.back()->free(), Status::success);
  EXPECT_EQ(rig.dma->memcpy(nullptr, nullptr, 0, tasks.back()), Status::success);
  for (DmaMemcpyTask* const task : tasks) {
    EXPECT_EQ(task->free(), Status::success);
  }
}

TEST_F(TaskTest, CannotBeHadUnlessTheContextRuns) {
  ASSERT_EQ(rig.dma->stop(), Status::success);
  DmaMemcpyTask* task = nullptr;
  EXPECT_EQ(rig.dma->memcpy(nullptr, nullptr, 0, task), Status::bad_state);
  EXPECT_EQ(task, nullptr);
}

TEST_F(TaskTest, RefusesASecondSubmitWhileInFlight) {
  DmaMemcpyTask& task = rig.submitted(small_src(), small_dst());
  EXPECT_EQ(task.submit(), Status::bad_state);
  EXPECT_EQ(task.try_submit(), Status::bad_state);
  EXPECT_EQ(rig.dma->num_inflight_tasks(), 1U);
  rig.progress_until(1);
  EXPECT_EQ(pe->progress(), 0);
  EXPECT_EQ(rig.completions.size(), 1U);
}

TEST_F(TaskTest, RefusesToBeFreedOrChangedWhileInFlight) {
  Buf* const src = small_src();
  DmaMemcpyTask& task = rig.submitted(src, small_dst());
  EXPECT_EQ(task.free(), Status::in_use);
  EXPECT_EQ(task.set_src(nullptr), Status::in_use);
  EXPECT_EQ(task.set_dst(nullptr), Status::in_use);
  EXPECT_EQ(task.src(), src);
  rig.progress_until(1);
}

TEST_F(TaskTest, RefusesToBeFreedTwice) {
  DmaMemcpyTask& task = rig.task(nullptr, nullptr);
  EXPECT_EQ(task.free(), Status::success);
  EXPECT_EQ(task.free(), Status::bad_state);
  EXPECT_EQ(task.submit(), Status::bad_state);
}

TEST_F(TaskTest, HoldsItsBufsUntilItCompletes) {
  Buf* const src = small_src();
  Buf* const dst = small_dst();
  Buf* const inner = bufs.by_addr(dst_memory, 128, 64);
  ASSERT_EQ(dst->chain(*inner), Status::success);
  rig.submitted(src, dst);
  for (Buf* const buf : {src, dst, inner}) {
    EXPECT_TRUE(buf->in_flight());
    EXPECT_EQ(buf->set_data(buf->head(), 0), Status::in_use);
    EXPECT_EQ(buf->reset_data_len(), Status::in_use);
  }
  EXPECT_EQ(src->dec_refcount(), Status::not_permitted);
  EXPECT_EQ(dst->unchain(*inner), Status::in_use);
  Buf* const other = small_src(64);
  EXPECT_EQ(other->chain(*src), Status::in_use);
  EXPECT_EQ(src->chain(*other), Status::in_use);
  EXPECT_EQ(src->inc_refcount(), Status::success);
  EXPECT_EQ(src->dec_refcount(), Status::success) << "not the last reference";
  rig.progress_until(1);
  for (Buf* const buf : {src, dst, inner}) {
    EXPECT_FALSE(buf->in_flight());
  }
  EXPECT_EQ(dst->data_len(), 64U);
}

TEST_F(TaskTest, RefusesADestinationThatAnotherTaskFills) {
  Buf* const src = small_src();
  Buf* const dst = small_dst(0, 128);
  rig.submitted(src, dst, 1);
  DmaMemcpyTask& second = rig.task(src, dst, 2);
  EXPECT_EQ(second.submit(), Status::in_use);
  EXPECT_EQ(second.try_submit(), Status::in_use);
  EXPECT_EQ(second.state(), Task::State::idle);
  rig.progress_until(1);
  EXPECT_EQ(second.submit(), Status::success);
  rig.progress_until(2);
  EXPECT_EQ(dst->data_len(), 128U);
}

TEST_F(TaskTest, SharesASourceAmongTasks) {
  Buf* const src = small_src();
  for (std::uint64_t i = 0; i < 3; ++i) {
    rig.submitted(src, small_dst(i * 64), i);
  }
  rig.progress_until(3);
  EXPECT_FALSE(src->in_flight());
}

TEST_F(TaskTest, IsSubmittedAgainFromItsCallback) {
  Buf* const src = small_src();
  Buf* const dst = small_dst();
  int left = 99;
  rig.in_callback = [&](DmaMemcpyTask& task) {
    EXPECT_EQ(task.dst()->reset_data_len(), Status::success);
    if (left-- > 0) {
      task.set_user_data(task.user_data() + 1);
      EXPECT_EQ(task.submit(), Status::success);
    }
  };
  rig.submitted(src, dst, 0);
  rig.progress_until(100);
  EXPECT_EQ(rig.completions.back().user_data, 99U);
  EXPECT_EQ(rig.dma->num_allocated_tasks(), 0U);
}

TEST_F(TaskTest, SubmitsAnotherFromACallback) {
  Buf* const src = small_src();
  Buf* const first = small_dst(0);
  Buf* const second = small_dst(64);
  rig.in_callback = [&](DmaMemcpyTask& task) {
    if (task.dst() == first) {
      rig.submitted(src, second, 2);
      EXPECT_EQ(rig.completions.size(), 1U) << "never completed inside submit";
    }
  };
  rig.submitted(src, first, 1);
  EXPECT_EQ(pe->progress(), 1);
  EXPECT_EQ(rig.completions.size(), 1U) << "at most one completion a call";
  EXPECT_EQ(pe->progress(), 1);
  EXPECT_EQ(rig.completions.size(), 2U);
  EXPECT_EQ(pe->progress(), 0);
}

TEST_F(TaskTest, SubmitsToAnotherContextOfTheEngineFromACallback) {
  DmaRig other(device, pe, 4);
  ASSERT_EQ(other.dma->start(), Status::success);
  Buf* const src = small_src();
  Buf* const second = small_dst(64);
  rig.in_callback = [&](DmaMemcpyTask&) { other.submitted(src, second, 7); };
  rig.submitted(src, small_dst(0));
  other.progress_until(1);
  EXPECT_EQ(other.completions.front().user_data, 7U);
  EXPECT_EQ(other.dma->stop(), Status::success);
}

TEST_F(TaskTest, WithoutFlushWaitsForTheNextFlush) {
  DmaMemcpyTask& first = rig.task(small_src(), small_dst(0), 1);
  DmaMemcpyTask& second = rig.task(small_src(), small_dst(64), 2);
  ASSERT_EQ(first.submit(SubmitFlags::none), Status::success);
  EXPECT_EQ(rig.dma->num_inflight_tasks(), 1U);
  EXPECT_EQ(pe->progress(), 0);
  ASSERT_EQ(second.submit(SubmitFlags::flush | SubmitFlags::optimize_reports), Status::success);
  rig.progress_until(2);
  EXPECT_EQ(rig.completions[0].user_data, 1U);
  EXPECT_EQ(rig.completions[1].user_data, 2U);
}

TEST_F(TaskTest, WithoutFlushIsPostedByFlushTasks) {
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_EQ(rig.task(small_src(), small_dst(i * 64), i).submit(SubmitFlags::none), Status::success);
  }
  EXPECT_EQ(pe->progress(), 0);
  rig.dma->flush_tasks();
  rig.progress_until(3);
  rig.dma->flush_tasks();
  EXPECT_EQ(pe->progress(), 0);
}

TEST_F(TaskTest, RefusesAThreadThatIsNotTheEngines) {
  DmaMemcpyTask& task = rig.task(small_src(), small_dst());
  Status status = Status::unknown;
  std::jthread([&] { status = task.submit(); }).join();
  EXPECT_EQ(status, Status::not_permitted);
  EXPECT_EQ(task.state(), Task::State::idle);
  EXPECT_EQ(task.submit(), Status::success);
  rig.progress_until(1);
}

TEST_F(TaskTest, ExplainsWhySubmissionIsRefused) {
  rig.free_tasks = false;
  DmaMemcpyTask& task = rig.task(small_src(), small_dst());
  ASSERT_EQ(task.submit(), Status::success);
  EXPECT_EQ(task.submit(), Status::bad_state);
  EXPECT_EQ(task.explain(Status::bad_state), "it is in flight; wait for its completion");
  rig.progress_until(1);
  ASSERT_EQ(task.free(), Status::success);
  EXPECT_EQ(task.explain(Status::bad_state), "it is freed; take another task");
  EXPECT_EQ(task.explain(Status::again), "the queue is full; progress, then try again");
}

TEST_F(TaskTest, TellsADriverThatFailedFromADeviceThatWasRemoved) {
  DmaMemcpyTask& task = rig.task(small_src(), small_dst());
  EXPECT_THAT(task.explain(Status::driver), testing::StartsWith("the driver of fake0 reported a fatal error"));
  backend.removed = true;
  EXPECT_EQ(task.explain(Status::driver), "the device was removed; open it again when it is back");
  backend.removed = false;
  ASSERT_EQ(task.free(), Status::success);
}

}  // namespace
}  // namespace pydoca

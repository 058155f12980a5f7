/// Traces of tasks, contexts, events and messages in this process.
#include "pydoca/trace.hpp"

#include "detail/trace/recorder.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/dma_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace pydoca {
namespace {

using detail::trace::pack;
using detail::trace::record;
using detail::trace::ticks;

std::shared_ptr<Trace> own_trace(std::uint32_t events_per_thread = 1024) {
  return Trace::start({.events_per_thread = events_per_thread, .fabric = false});
}

std::vector<TraceEvent> of_kind(const Trace& trace, TraceEventKind kind) {
  std::vector<TraceEvent> found;
  std::ranges::copy_if(trace.events(), std::back_inserter(found),
                       [&](const auto& event) { return event.kind == kind; });
  return found;
}

const TraceName& name(const Trace& trace, const TraceEvent& event, std::uint32_t index) {
  return trace.processes().at(event.process).names.at(index);
}

TEST(Trace, RecordsNothingUnlessItRuns) {
  EXPECT_FALSE(trace::is_on());
  const auto running = own_trace();
  EXPECT_TRUE(trace::is_on());
  running->stop();
  EXPECT_FALSE(trace::is_on());
  EXPECT_TRUE(running->events().empty());
  EXPECT_EQ(running->processes().size(), 1U);
}

TEST(Trace, EndsWhenItIsDestroyed) {
  own_trace().reset();
  EXPECT_FALSE(trace::is_on());
}

TEST(Trace, RefusesImpossibleSizes) {
  for (const std::uint32_t size : {0U, detail::trace::max_capacity + 1}) {
    EXPECT_EQ(thrown_by([&] { own_trace(size); }), Status::invalid_value);
  }
}

using TraceOfDma = DmaTest;

TEST_F(TraceOfDma, HasTasksWithTheNamesOfTheirContextAndDevice) {
  EXPECT_EQ(rig.dma->start(), Status::success);
  const auto running = own_trace();
  submit_small(0, 0);
  rig.progress_until(1);
  running->stop();
  const auto submitted = of_kind(*running, TraceEventKind::submit);
  const auto completed = of_kind(*running, TraceEventKind::complete);
  ASSERT_EQ(submitted.size(), 1U);
  ASSERT_EQ(completed.size(), 1U);
  EXPECT_EQ(submitted[0].id, completed[0].id);
  EXPECT_EQ(submitted[0].value, 64U);
  EXPECT_LE(submitted[0].time, completed[0].time);
  EXPECT_GE(submitted[0].time, running->begin());
  EXPECT_LE(completed[0].time, running->end());
  EXPECT_EQ(name(*running, submitted[0], submitted[0].task).text, "memcpy");
  const TraceName& context = name(*running, submitted[0], submitted[0].subject);
  EXPECT_EQ(context.text, "dma");
  EXPECT_EQ(name(*running, submitted[0], context.parent).kind, TraceNameKind::device);
}

TEST_F(TraceOfDma, HasStatesAndFailures) {
  EXPECT_EQ(rig.dma->start(), Status::success);
  const auto running = own_trace();
  Buf* const src = hold(bufs.by_data(src_memory, 0, 64));
  rig.submitted(src, hold(bufs.by_addr(dst_memory, 0, 32)));  // too small
  rig.progress_until_idle();
  running->stop();
  const auto completed = of_kind(*running, TraceEventKind::complete);
  ASSERT_EQ(completed.size(), 1U);
  EXPECT_EQ(completed[0].status, Status::io_failed);
  const auto states = of_kind(*running, TraceEventKind::state);
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(static_cast<ContextState>(states[0].previous), ContextState::running);
  EXPECT_EQ(static_cast<ContextState>(states[0].value), ContextState::stopping);
  EXPECT_EQ(states[0].status, Status::io_failed);
  EXPECT_EQ(static_cast<ContextState>(states[1].value), ContextState::idle);
}

TEST_F(TraceOfDma, TasksThatItHasSeenSubmittedCompleteAsUsualAfterItsEnd) {
  EXPECT_EQ(rig.dma->start(), Status::success);
  const auto running = own_trace();
  submit_small(1, 0);
  running->stop();
  rig.progress_until(1);
  submit_small(2, 64);
  rig.progress_until(2);
  EXPECT_EQ(of_kind(*running, TraceEventKind::submit).size(), 1U);
  EXPECT_TRUE(of_kind(*running, TraceEventKind::complete).empty());
}

TEST(Trace, KeepsTheNewestEventsOfAThreadAndCountsTheOthers) {
  constexpr std::uint64_t count = 3000;
  const auto running = own_trace(1024);
  const std::uint32_t subject = trace::add_name(TraceNameKind::coroutine, "busy");
  for (std::uint64_t i = 0; i < count; ++i) {
    record(ticks(), pack(TraceEventKind::event_set, 0, 0, subject), 0, i);
  }
  running->stop();
  constexpr std::uint64_t kept = 1024 - 8;  // the oldest might be being overwritten
  ASSERT_EQ(running->events().size(), kept);
  EXPECT_EQ(running->lost(), count - kept);
  EXPECT_EQ(running->events().front().value, count - kept);
  EXPECT_EQ(running->events().back().value, count - 1);
}

TEST(Trace, CountsEventsOfThreadsThatFindNoRing) {
  constexpr std::uint32_t more = 3;
  const auto running = own_trace();
  for (std::uint32_t i = 0; i < detail::trace::max_rings + more; ++i) {
    std::thread([] { record(ticks(), pack(TraceEventKind::event_set, 0, 0, 0), 0, 7); }).join();
  }
  running->stop();
  EXPECT_EQ(running->events().size(), detail::trace::max_rings);
  EXPECT_EQ(running->lost(), more);
}

TEST(Trace, ThreadsRecordWhileTracesBeginAndEnd) {
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (std::uint64_t number = 0; number < 2; ++number) {
    threads.emplace_back([&, number] {
      for (std::uint64_t i = 0; !done.load(); ++i) {
        if (detail::trace::is_recording()) {
          record(ticks(), pack(TraceEventKind::event_set, 0, 0, 0), number, i);
        }
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    const auto running = own_trace();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    running->stop();
    std::map<std::uint64_t, TraceEvent> last;
    for (const TraceEvent& event : running->events()) {
      EXPECT_LT(event.id, 2U);
      EXPECT_TRUE(!last.contains(event.id) || event.value > last[event.id].value)
          << last[event.id].value << " at " << last[event.id].time << ", then " << event.value << " at " << event.time;
      last[event.id] = event;
    }
  }
  done = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
}

TEST(Trace, TwoAtATimeShareTheRecording) {
  const auto first = own_trace();
  record(ticks(), pack(TraceEventKind::event_set, 0, 0, 0), 0, 1);
  const auto second = own_trace(2048);
  record(ticks(), pack(TraceEventKind::event_set, 0, 0, 0), 0, 2);
  first->stop();
  EXPECT_TRUE(trace::is_on());
  record(ticks(), pack(TraceEventKind::event_set, 0, 0, 0), 0, 3);
  second->stop();
  EXPECT_FALSE(trace::is_on());
  const auto values = [](const Trace& trace) {
    std::vector<std::uint64_t> all;
    std::ranges::transform(trace.events(), std::back_inserter(all), &TraceEvent::value);
    return all;
  };
  EXPECT_THAT(values(*first), testing::ElementsAre(1, 2));
  EXPECT_THAT(values(*second), testing::ElementsAre(2, 3));
}

TEST(Trace, LongNamesAreCutAndTooManyAreNone) {
  const auto running = own_trace();
  const std::uint32_t index = trace::add_name(TraceNameKind::coroutine, std::string(300, 'x'));
  std::uint32_t last = index;
  for (std::uint32_t i = 0; i < detail::trace::max_names; ++i) {
    last = trace::add_name(TraceNameKind::coroutine, "y");
  }
  EXPECT_EQ(last, 0U);
  running->stop();
  EXPECT_EQ(running->processes().at(0).names.at(index).text, std::string(detail::trace::NameEntry::max_text, 'x'));
}

}  // namespace
}  // namespace pydoca

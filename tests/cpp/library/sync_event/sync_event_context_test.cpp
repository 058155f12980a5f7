#include "pydoca/sync_event_context.hpp"

#include "rig/expect_error.hpp"
#include "rig/library/sync_event_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <poll.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace pydoca {
namespace {

using enum SyncEventOperation;
using testing::ElementsAre;
using Completion = EventRig::Completion;

class SyncEventContextTest : public SyncEventRigTest {
 protected:
  std::shared_ptr<Device> host = open_function("pf0");
  std::shared_ptr<Device> dpu = open_function("p0");
  std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
};

TEST_F(SyncEventContextTest, SetsAddsAndGets) {
  EventRig rig(local_event(dpu), pe);
  rig.submit(notify_set, 5, 0, 1);
  rig.submit(notify_add, 3, 0, 2);
  rig.submit(get, 0, 0, 3);
  EXPECT_TRUE(rig.completions.empty()) << "submit never completes a task";
  rig.progress_until(3);
  EXPECT_THAT(rig.completions, ElementsAre(Completion{1, Status::success, 0}, Completion{2, Status::success, 5},
                                           Completion{3, Status::success, 8}));
}

TEST_F(SyncEventContextTest, StoresResultsWhereItIsTold) {
  EventRig rig(local_event(dpu), pe);
  std::uint64_t fetched = 99;
  SyncEventTask* task = nullptr;
  ASSERT_EQ(rig.context->allocate(notify_add, 2, 0, 0, task), Status::success);
  EXPECT_EQ(task->result_address(), nullptr);
  ASSERT_EQ(task->set_result_address(&fetched), Status::success);
  EXPECT_EQ(task->result_address(), &fetched);
  ASSERT_EQ(task->submit(), Status::success);
  rig.progress_until(1);
  EXPECT_EQ(fetched, 0U);
}

TEST_F(SyncEventContextTest, WaitsUntilTheValueComes) {
  EventRig rig(local_event(dpu), pe);
  rig.submit(wait_eq, 2, all_bits, 1);
  rig.submit(wait_neq, 0, all_bits, 2);
  rig.submit(wait_eq, 0x01, 0xff, 3);
  EXPECT_EQ(pe->progress(), 0);
  rig.submit(notify_set, 0x101, 0, 4);
  rig.progress_until(3);
  rig.submit(notify_set, 2, 0, 5);
  rig.progress_until(5);
  EXPECT_EQ(rig.completions.size(), 5U);
  EXPECT_EQ(rig.completions.back().result, 2U);
  EXPECT_EQ(rig.completions.back().user_data, 1U);
}

TEST_F(SyncEventContextTest, AWaitThatIsSatisfiedCompletesAtOnce) {
  EventRig rig(local_event(dpu), pe);
  rig.submit(wait_eq, 0, all_bits, 1);
  rig.submit(wait_neq, 7, 0, 2);
  rig.progress_until(2);
  EXPECT_EQ(rig.completions[0].status, Status::success);
}

TEST_F(SyncEventContextTest, WaitsForAGreaterValue) {
  EventRig rig(local_event(dpu), pe);
  rig.submit(wait_gt, 9, all_bits, 1);
  rig.submit(wait_gt, 254, all_bits, 2);
  rig.submit(wait_gt, 9, 0xff, 3);
  rig.submit(notify_set, 9, 0, 4);
  rig.progress_until(1);
  EXPECT_EQ(pe->progress(), 0) << "9 is not greater than 9";
  rig.submit(notify_set, 254, 0, 5);
  rig.progress_until(4);
  EXPECT_EQ(rig.completions.size(), 4U);
  rig.submit(wait_gt, 200, all_bits, 6);
  rig.progress_until(5);
  EXPECT_EQ(rig.completions.back(), (Completion{6, Status::success, 254}));
}

TEST_F(SyncEventContextTest, AGreaterValueIsAtMost254) {
  EventRig rig(local_event(dpu), pe);
  SyncEventTask* task = nullptr;
  ASSERT_EQ(rig.context->allocate(wait_gt, max_wait_gt_value + 1, all_bits, 1, task), Status::success);
  EXPECT_EQ(task->try_submit(), Status::invalid_value);
  EXPECT_THAT(task->explain(Status::invalid_value), testing::HasSubstr("255"));
  EXPECT_EQ(task->submit(), Status::success) << "submit does not look, as in DOCA";
  rig.progress_until(1);
  EXPECT_EQ(rig.completions[0].status, Status::io_failed);
  EXPECT_EQ(rig.context->failure(), Status::io_failed);
}

TEST_F(SyncEventContextTest, AWaitForAGreaterValueFailsWhereTheEventsValueIsAbove254) {
  EventRig rig(local_event(dpu), pe);
  SyncEventTask& wait = rig.submit(wait_gt, 3, all_bits, 1);
  rig.submit(notify_set, 0x1ff, 0, 2);
  rig.progress_until(2);
  EXPECT_THAT(rig.completions, testing::Contains(Completion{1, Status::io_failed, 0x1ff}));
  EXPECT_THAT(wait.explain(Status::io_failed), testing::HasSubstr("511"));
}

TEST_F(SyncEventContextTest, TakesMasksOfAdjacentBytesOnly) {
  EXPECT_TRUE(is_wait_mask(0) && is_wait_mask(0xff) && is_wait_mask(0xffff00) && is_wait_mask(all_bits));
  EXPECT_TRUE(is_wait_mask(0xff000000'00000000) && is_wait_mask(0xffffffff'00000000));
  EXPECT_FALSE(is_wait_mask(0xffffff) || is_wait_mask(0x0ff0) || is_wait_mask(1) || is_wait_mask(0xff00ff));
  EventRig rig(local_event(dpu), pe);
  SyncEventTask* task = nullptr;
  ASSERT_EQ(rig.context->allocate(wait_eq, 0, 0xfff, 0, task), Status::success);
  EXPECT_EQ(task->try_submit(), Status::invalid_value);
  ASSERT_EQ(task->set_mask(0xffff), Status::success);
  EXPECT_EQ(task->try_submit(), Status::success);
  rig.progress_until(1);
}

TEST_F(SyncEventContextTest, StopFlushesPendingWaits) {
  EventRig rig(local_event(dpu), pe);
  for (std::uint64_t i = 0; i < 10; ++i) {
    rig.submit(i % 2 == 0 ? wait_eq : wait_neq, i % 2 == 0 ? i + 1 : 0, all_bits, i);
  }
  EXPECT_EQ(rig.context->stop(), Status::in_progress);
  rig.progress_until(10);
  rig.stop();
  for (const Completion& completion : rig.completions) {
    EXPECT_EQ(completion.status, Status::shutdown);
  }
  EXPECT_EQ(thrown_by([&] { return rig.context->start(); }), Status::bad_state) << "an event is started once";
}

TEST_F(SyncEventContextTest, ACancelledWaitGivesItsSlotBack) {
  EventRig rig(local_event(dpu), pe, 1);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    SyncEventTask& wait = rig.submit(i % 2 == 0 ? wait_neq : wait_eq, i % 2 == 0 ? 0 : 1, all_bits, i);
    EXPECT_EQ(rig.context->cancel(wait), Status::success);
    EXPECT_EQ(rig.context->cancel(wait), Status::bad_state);
    rig.progress_until(i);
    EXPECT_EQ(rig.completions.back(), (Completion{i, Status::shutdown, 0}));
  }
  SyncEventTask& get_task = rig.submit(get);
  EXPECT_EQ(rig.context->cancel(get_task), Status::bad_state);
  rig.progress_until(4);
  EXPECT_EQ(rig.context->state(), ContextState::running);
}

TEST_F(SyncEventContextTest, TheModesExcludeEachOther) {
  const auto event = local_event(dpu);
  EventRig rig(event, pe);
  std::uint64_t value = 0;
  EXPECT_EQ(event->get(value), Status::bad_state);
  EXPECT_EQ(event->update_set(1), Status::bad_state);
  EXPECT_EQ(event->wait_eq(0, all_bits, WaitMode::busy), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { event->start(); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { event->stop(); }), Status::bad_state);
  EXPECT_EQ(event->as_context(), rig.context);
}

TEST_F(SyncEventContextTest, ClosingItClosesTheEvent) {
  const auto event = local_event(dpu);
  {
    const EventRig rig(event, pe);
    EXPECT_FALSE(event->is_closed());
  }
  EXPECT_TRUE(event->is_closed());
  dpu->close();
  event->close();
}

TEST_F(SyncEventContextTest, ClosingTheEventClosesIt) {
  const auto event = local_event(dpu);
  const auto context = event->as_context();
  event->close();
  EXPECT_TRUE(context->is_closed());
}

TEST_F(SyncEventContextTest, IsConfiguredWhileIdle) {
  EventRig rig(local_event(dpu), pe);
  const auto callback = [](Task&, std::uint64_t, std::uint64_t) noexcept {};
  EXPECT_EQ(thrown_by([&] { rig.context->set_conf(get, callback, callback, 1); }), Status::not_permitted);
  const auto other = local_event(dpu)->as_context();
  EXPECT_EQ(thrown_by([&] { other->set_conf(get, nullptr, callback, 1); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { other->set_conf(get, callback, callback, 0); }), Status::invalid_value);
  pe->connect(other);
  EXPECT_EQ(thrown_by([&] { return other->start(); }), Status::invalid_value) << "nothing is configured";
  other->set_conf(get, callback, callback, 3);
  EXPECT_EQ(other->num_tasks(get), 3U);
  EXPECT_EQ(other->num_tasks(wait_eq), 0U);
  other->close();
}

TEST_F(SyncEventContextTest, ThePoolIsFinite) {
  EventRig rig(local_event(dpu), pe, 2);
  SyncEventTask* one = nullptr;
  SyncEventTask* two = nullptr;
  SyncEventTask* three = nullptr;
  ASSERT_EQ(rig.context->allocate(wait_eq, 1, all_bits, 0, one), Status::success);
  ASSERT_EQ(rig.context->allocate(wait_eq, 1, all_bits, 0, two), Status::success);
  EXPECT_EQ(rig.context->allocate(wait_eq, 1, all_bits, 0, three), Status::no_memory);
  EXPECT_EQ(rig.context->allocate(get, 0, 0, 0, three), Status::success) << "each kind has its own pool";
  for (SyncEventTask* const task : {one, two, three}) {
    EXPECT_EQ(task->free(), Status::success);
  }
}

TEST_F(SyncEventContextTest, ABlueField2HasNoWaits) {
  sim::set_topology(sim::default_topology("bluefield2"));
  const auto old = open_function("p1");
  EXPECT_FALSE(SyncEventContext::is_supported(old->info(), wait_eq));
  EXPECT_TRUE(SyncEventContext::is_supported(old->info(), get));
  const auto context = local_event(old)->as_context();
  const auto callback = [](Task&, std::uint64_t, std::uint64_t) noexcept {};
  EXPECT_EQ(thrown_by([&] { context->set_conf(wait_neq, callback, callback, 1); }), Status::not_supported);
  context->close();
}

TEST_F(SyncEventContextTest, AnotherThreadsUpdateWakesASleepingEngine) {
  const auto event = exported_event(host);
  EventRig rig(event, pe);
  const auto blob = event->export_to_remote_pci(*host);
  std::atomic<std::uint64_t> turn{0};
  std::thread publisher([&] {
    const auto handle = SyncEvent::create_from_export(dpu, blob);
    handle->start();
    for (std::uint64_t i = 1; i <= 2000; ++i) {
      while (turn.load() != i) {
        std::this_thread::yield();
      }
      EXPECT_EQ(handle->update_set(i), Status::success);
    }
  });
  for (std::uint64_t i = 1; i <= 2000; ++i) {
    rig.submit(wait_eq, i, all_bits, i);
    turn.store(i);
    rig.sleep_until(i);
  }
  publisher.join();
}

TEST_F(SyncEventContextTest, TwoSleepingEnginesPassAValueBackAndForth) {
  const auto event = exported_event(host);
  EventRig rig(event, pe);
  const auto blob = event->export_to_remote_pci(*host);
  constexpr std::uint64_t rounds = 3000;
  std::thread partner([&] {
    EventRig other(SyncEvent::create_from_export(dpu, blob), ProgressEngine::create());
    for (std::uint64_t i = 1; i <= rounds; ++i) {
      other.submit(wait_eq, 2 * i - 1);
      other.sleep_until(2 * i - 1);
      other.submit(notify_set, 2 * i);
      other.sleep_until(2 * i);
    }
  });
  for (std::uint64_t i = 1; i <= rounds; ++i) {
    rig.submit(notify_set, 2 * i - 1);
    rig.submit(wait_eq, 2 * i);
    rig.sleep_until(2 * i);
  }
  partner.join();
}

TEST_F(SyncEventContextTest, RawStoresAreFoundWithoutASignal) {
  alignas(8) std::uint64_t word = 0;
  const auto event = local_event(dpu);
  event->set_addr(&word);
  EventRig rig(event, pe);
  std::atomic<std::uint64_t> turn{0};
  std::thread writer([&] {
    for (std::uint64_t i = 1; i <= 50; ++i) {
      while (turn.load() != i) {
        std::this_thread::yield();
      }
      std::atomic_ref(word).store(i);
    }
  });
  for (std::uint64_t i = 1; i <= 50; ++i) {
    rig.submit(wait_eq, i);
    turn.store(i);
    rig.sleep_until(i);
  }
  writer.join();
}

TEST_F(SyncEventContextTest, WithdrawingFailsAnImportersWaitsButNotItsContext) {
  const auto event = exported_event(host);
  event->start();
  EventRig rig(SyncEvent::create_from_export(dpu, event->export_to_remote_pci(*host)), pe);
  rig.submit(wait_eq, 1, all_bits, 1);
  EXPECT_FALSE(pe->wait(1)) << "there is nothing to deliver, so the engine sleeps";
  event->stop();
  rig.sleep_until(1);
  EXPECT_EQ(rig.completions[0].status, Status::not_connected);
  rig.submit(notify_set, 1, 0, 2);
  rig.progress_until(2);
  EXPECT_EQ(rig.completions[1].status, Status::not_connected);
  EXPECT_EQ(rig.context->state(), ContextState::running);
}

TEST_F(SyncEventContextTest, AThousandWaitsEndOneByOne) {
  EventRig rig(local_event(dpu), pe, 1000);
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    rig.submit(wait_eq, i, all_bits, i);
  }
  for (std::uint64_t i = 1000; i > 0; --i) {
    rig.submit(notify_set, i, 0, 10'000);
    rig.progress_until(2 * (1001 - i));
    EXPECT_EQ(rig.completions.back().user_data, i);
  }
}

TEST_F(SyncEventContextTest, AHotRemovedDeviceFailsItsTasks) {
  EventRig rig(local_event(open_function("p1")), pe);
  sim::remove_device("p1");
  rig.submit(get, 0, 0, 1);
  rig.progress_until(1);
  EXPECT_EQ(rig.completions[0].status, Status::driver);
  EXPECT_EQ(rig.context->failure(), Status::driver);
  sim::restore_device("p1");
}

TEST_F(SyncEventContextTest, AHotRemovedDeviceWakesWhoSleeps) {
  EventRig rig(local_event(open_function("p1")), pe);
  rig.submit(wait_eq, 1, all_bits, 1);
  EXPECT_FALSE(rig.pe->wait(10)) << "there is nothing to deliver, so the engine sleeps";
  std::thread remover([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    sim::remove_device("p1");
  });
  rig.sleep_until(1);
  remover.join();
  EXPECT_EQ(rig.completions[0].status, Status::driver);
  EXPECT_EQ(rig.context->failure(), Status::driver);
  sim::restore_device("p1");
}

TEST_F(SyncEventContextTest, ARemovalInAForkedChildIsTheChildsOwn) {
  EventRig rig(local_event(open_function("p1")), pe);
  rig.submit(wait_eq, 1, all_bits, 1);
  EXPECT_FALSE(rig.pe->wait(10)) << "there is nothing to deliver, so the engine sleeps";
  rig.pe->request_notification();
  const pid_t child = ::fork();
  if (child == 0) {
    sim::remove_device("p1");
    ::_exit(0);
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  pollfd handle{.fd = rig.pe->notification_handle(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&handle, 1, 0), 0);
  rig.pe->clear_notification();
  rig.submit(notify_set, 1, 0, 2);
  rig.progress_until(2);
}

}  // namespace
}  // namespace pydoca

#include "pydoca/dpa.hpp"

#include "pydoca/capabilities.hpp"
#include "pydoca/memory.hpp"
#include "pydoca/mmap.hpp"
#include "pydoca/sim.hpp"
#include "pydoca/sync_event.hpp"
#include "pydoca/sync_event_context.hpp"
#include "pydoca/virtual_time.hpp"

#include "rig/expect_error.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace pydoca {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Location = SyncEventLocation;

constexpr std::uint64_t every_bit = ~std::uint64_t{0};
constexpr seconds dpa_patience{20};  // ends a hang

template <class Condition>
void wait_until(Condition holds) {
  const auto end = std::chrono::steady_clock::now() + dpa_patience;
  while (!holds() && std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(holds());
}

class DpaTest : public testing::Test {
 protected:
  std::shared_ptr<Dpa> started() {
    auto dpa = Dpa::create(device);
    dpa->start();
    return dpa;
  }

  /// publisher or subscriber null: the CPU.
  std::shared_ptr<SyncEvent> event(const std::shared_ptr<Dpa>& publisher, const std::shared_ptr<Dpa>& subscriber) {
    auto made = SyncEvent::create();
    publisher != nullptr ? made->add_publisher_location_dpa(publisher) : made->add_publisher_location_cpu(device);
    subscriber != nullptr ? made->add_subscriber_location_dpa(subscriber) : made->add_subscriber_location_cpu(device);
    made->start();
    return made;
  }

  std::shared_ptr<Device> device = Device::open(find_device("p0"));
};

TEST_F(DpaTest, IsThereOnABlueField3) {
  EXPECT_TRUE(Dpa::is_supported(device->info()));
  EXPECT_TRUE(find_capability("dpa").of(device->info()));
  EXPECT_TRUE(SyncEvent::is_export_to_dpa_supported(device->info()));
  sim::set_topology(sim::default_topology("bluefield2"));
  const auto old = Device::open(find_device("p0"));
  EXPECT_EQ(thrown_by([&] { Dpa::create(old); }), Status::not_supported);
  EXPECT_EQ(find_capability("dpa").of(old->info()).reason, "only a BlueField-3 or newer has a DPA");
  EXPECT_FALSE(SyncEvent::is_export_to_dpa_supported(old->info()));
  EXPECT_EQ(thrown_by([&] { Dpa::create(nullptr); }), Status::invalid_value);
}

TEST_F(DpaTest, RunsAKernelInEachThread) {
  const auto dpa = started();
  std::atomic<std::uint32_t> ranks{0};
  dpa->register_kernel("mark", [&](DpaThread& thread, const std::any& argument) {
    EXPECT_EQ(thread.num_threads(), 4U);
    ranks |= std::any_cast<std::uint32_t>(argument) << thread.rank();
  });
  const auto run = dpa->launch({.kernel = "mark", .argument = std::uint32_t{1}, .num_threads = 4});
  EXPECT_EQ(run->wait(dpa_patience), Status::success);
  EXPECT_EQ(ranks.load(), 0b1111U);
  EXPECT_TRUE(run->is_done());
}

TEST_F(DpaTest, EventsStartKernelsAndTellOfTheirEnd) {
  const auto dpa = started();
  const auto go = event(nullptr, dpa);
  const auto done = event(dpa, nullptr);
  dpa->register_kernel("nothing", [](DpaThread&, const std::any&) {});
  const auto run = dpa->launch({.kernel = "nothing",
                                .num_threads = 3,
                                .wait_event = go->dpa_handle(*dpa),
                                .wait_threshold = 4,
                                .done_event = done->dpa_handle(*dpa),
                                .done_value = 7});
  ASSERT_EQ(go->update_set(4), Status::success);
  EXPECT_EQ(run->wait(milliseconds(30)), Status::time_out);
  ASSERT_EQ(go->update_set(5), Status::success);
  EXPECT_EQ(done->wait_eq(7, every_bit, WaitMode::yield, dpa_patience), Status::success);
  EXPECT_EQ(run->wait(dpa_patience), Status::success);
}

TEST_F(DpaTest, AKernelAndTheCpuAnswerEachOther) {
  constexpr std::uint64_t rounds = 200;
  const auto dpa = started();
  const auto ping = event(nullptr, dpa);
  const auto pong = event(dpa, nullptr);
  const auto heard = ping->dpa_handle(*dpa);
  const auto said = pong->dpa_handle(*dpa);
  dpa->register_kernel("echo", [&](DpaThread&, const std::any&) {
    for (std::uint64_t round = 0; round < rounds; ++round) {
      std::uint64_t before = 0;
      ASSERT_EQ(heard->wait_gt(round, every_bit), Status::success);
      ASSERT_EQ(said->update_add(1, before), Status::success);
    }
  });
  const auto run = dpa->launch({.kernel = "echo"});
  for (std::uint64_t round = 1; round <= rounds; ++round) {
    ASSERT_EQ(ping->update_set(round), Status::success);
    ASSERT_EQ(pong->wait_eq(round, every_bit, WaitMode::yield, dpa_patience), Status::success);
  }
  EXPECT_EQ(run->wait(dpa_patience), Status::success);
}

TEST_F(DpaTest, AChangeWakesAllThreadsThatWait) {
  const auto dpa = started();
  const auto go = event(nullptr, dpa);
  const auto handle = go->dpa_handle(*dpa);
  EXPECT_EQ(go->dpa_handle(*dpa), handle) << "one handle for all";
  std::atomic<std::uint64_t> woken{0};
  dpa->register_kernel("sleep", [&](DpaThread& thread, const std::any&) {
    woken += handle->wait_eq(1 + thread.rank() % 2, every_bit) == Status::success ? 1U : 100U;
  });
  const auto run = dpa->launch({.kernel = "sleep", .num_threads = 6});
  for (std::uint64_t value = 1; value <= 2; ++value) {
    std::this_thread::sleep_for(milliseconds(5));
    ASSERT_EQ(go->update_set(value), Status::success);
    wait_until([&] { return woken >= 3 * value; });
  }
  EXPECT_EQ(run->wait(dpa_patience), Status::success);
  EXPECT_EQ(woken.load(), 6U);
}

TEST_F(DpaTest, NotificationsWakeAThreadUntilItFinishes) {
  const auto dpa = started();
  std::atomic<int> runs{0};
  dpa->register_kernel("count", [&](DpaThread& thread, const std::any&) {
    if (++runs == 3) {
      thread.finish();
    }
  });
  const auto run = dpa->launch({.kernel = "count", .repeats = true});
  for (int want = 1; want <= 3; ++want) {
    run->notify();
    wait_until([&] { return runs == want; });
  }
  EXPECT_EQ(run->wait(dpa_patience), Status::success);
}

TEST_F(DpaTest, AnEventThatGrowsWakesAThread) {
  const auto dpa = started();
  const auto work = event(nullptr, dpa);
  const auto done = event(dpa, nullptr);
  const auto out = done->dpa_handle(*dpa);
  dpa->register_kernel("work", [&](DpaThread&, const std::any&) {
    std::uint64_t before = 0;
    EXPECT_EQ(out->update_add(1, before), Status::success);
  });
  const auto run = dpa->launch({.kernel = "work", .wait_event = work->dpa_handle(*dpa), .repeats = true});
  for (std::uint64_t round = 1; round <= 3; ++round) {
    ASSERT_EQ(work->update_set(round), Status::success);
    ASSERT_EQ(done->wait_eq(round, every_bit, WaitMode::yield, dpa_patience), Status::success);
  }
  dpa->stop();
  EXPECT_EQ(run->wait(dpa_patience), Status::shutdown);
}

TEST_F(DpaTest, AFailureIsFatalAndEndsWhatWaits) {
  const auto dpa = started();
  const auto answer = event(dpa, nullptr);
  const auto never = event(nullptr, dpa);
  const auto handle = answer->dpa_handle(*dpa);
  const auto quiet = never->dpa_handle(*dpa);
  dpa->register_kernel(
      "wait", [&](DpaThread&, const std::any&) { EXPECT_EQ(quiet->wait_gt(0, every_bit), Status::io_failed); });
  dpa->register_kernel("fail", [](DpaThread&, const std::any&) { throw std::runtime_error("division by zero"); });
  const auto waiting = dpa->launch({.kernel = "wait"});
  const auto failing = dpa->launch({.kernel = "fail"});
  EXPECT_EQ(answer->wait_gt(0, every_bit, WaitMode::yield, dpa_patience), Status::io_failed);
  EXPECT_EQ(failing->wait(dpa_patience), Status::io_failed);
  EXPECT_EQ(waiting->wait(dpa_patience), Status::io_failed);
  EXPECT_EQ(dpa->last_error(), Status::io_failed);
  EXPECT_EQ(dpa->failure(), "kernel \"fail\", thread 0: division by zero");
  EXPECT_NE(answer->explain(Status::io_failed).find("division by zero"), std::string::npos);
  EXPECT_EQ(thrown_by([&] { dpa->launch({.kernel = "wait"}); }), Status::bad_state);
  EXPECT_EQ(handle->update_set(1), Status::io_failed);
  dpa->close();
  EXPECT_EQ(dpa->num_threads(), 0U);
}

TEST_F(DpaTest, AStopEndsWaits) {
  const auto dpa = started();
  const auto never = event(nullptr, dpa);
  dpa->register_kernel("nothing", [](DpaThread&, const std::any&) {});
  const auto handle = never->dpa_handle(*dpa);
  const auto waiting = dpa->launch({.kernel = "nothing", .num_threads = 3, .wait_event = handle});
  EXPECT_EQ(thrown_by([&] { device->close(); }), Status::in_use);
  dpa->close();
  EXPECT_EQ(waiting->wait(), Status::shutdown);
  EXPECT_EQ(handle->wait_gt(0, every_bit), Status::shutdown);
  EXPECT_EQ(thrown_by([&] { dpa->launch({.kernel = "nothing"}); }), Status::bad_state);
  dpa->close();
}

TEST_F(DpaTest, AKernelThatDoesNotReturnIsNamedAndCanBeStoppedLater) {
  const auto dpa = started();
  std::atomic<bool> entered{false};
  std::atomic<bool> leave{false};
  dpa->register_kernel("stubborn", [&](DpaThread& thread, const std::any&) {
    EXPECT_FALSE(thread.is_stopping());
    for (entered = true; !leave;) {
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  const auto run = dpa->launch({.kernel = "stubborn"});
  wait_until([&] { return entered.load(); });
  EXPECT_EQ(thrown_by([&] { dpa->stop(); }), Status::again);
  leave = true;
  dpa->stop();
  EXPECT_TRUE(run->is_done());
}

TEST_F(DpaTest, RemovalEndsItsWaits) {
  const auto dpa = started();
  const auto never = event(nullptr, dpa);
  dpa->register_kernel("nothing", [](DpaThread&, const std::any&) {});
  const auto run = dpa->launch({.kernel = "nothing", .wait_event = never->dpa_handle(*dpa)});
  sim::remove_device("p0");
  EXPECT_EQ(run->wait(dpa_patience), Status::driver);
  EXPECT_EQ(thrown_by([&] { dpa->launch({.kernel = "nothing"}); }), Status::driver);
}

TEST_F(DpaTest, KernelsUseTheMemoryOfMaps) {
  const auto dpa = started();
  const auto memory = Memory::allocate(4096);
  const auto mmap = Mmap::create();
  mmap->set_memrange(memory->data(), 4096, memory);
  EXPECT_EQ(thrown_by([&] { dpa->map(*mmap); }), Status::not_found);
  mmap->add_device(device);
  mmap->start();
  dpa->register_kernel("fill", [](DpaThread&, const std::any& argument) {
    const auto mapped = std::any_cast<DpaMmap>(argument);
    for (std::byte& byte : mapped.bytes()) {
      byte = std::byte{0x5a};
    }
  });
  ASSERT_EQ(dpa->launch({.kernel = "fill", .argument = dpa->map(*mmap)})->wait(dpa_patience), Status::success);
  EXPECT_EQ(static_cast<const std::byte*>(memory->data())[4095], std::byte{0x5a});
}

TEST_F(DpaTest, RefusesWhatDoesNotFit) {
  const auto dpa = Dpa::create(device);
  dpa->register_kernel("nothing", [](DpaThread&, const std::any&) {});
  EXPECT_EQ(thrown_by([&] { dpa->register_kernel("nothing", [](DpaThread&, const std::any&) {}); }),
            Status::already_exist);
  EXPECT_EQ(thrown_by([&] { dpa->register_kernel("", [](DpaThread&, const std::any&) {}); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { dpa->launch({.kernel = "nothing"}); }), Status::bad_state);
  dpa->start();
  EXPECT_EQ(thrown_by([&] { dpa->start(); }), Status::bad_state);
  EXPECT_EQ(thrown_by([&] { dpa->launch({.kernel = "something"}); }), Status::not_found);
  EXPECT_EQ(thrown_by([&] { dpa->launch({.kernel = "nothing", .num_threads = 0}); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { dpa->launch({.kernel = "nothing", .num_threads = 257}); }), Status::full);
}

TEST_F(DpaTest, ALocationGivesWhatItSays) {
  const auto dpa = started();
  const auto other = started();
  const auto in = event(nullptr, dpa);
  const auto out = event(dpa, nullptr);
  std::uint64_t value = 0;
  EXPECT_EQ(in->dpa_handle(*dpa)->update_set(1), Status::not_permitted);
  EXPECT_EQ(out->dpa_handle(*dpa)->wait_gt(0, every_bit), Status::not_permitted);
  EXPECT_EQ(out->dpa_handle(*dpa)->get(value), Status::success);
  EXPECT_EQ(thrown_by([&] { in->dpa_handle(*other); }), Status::invalid_value);
  const auto handle = in->dpa_handle(*dpa);
  EXPECT_EQ(handle->wait_gt(0, every_bit, milliseconds(5)), Status::time_out);
  in->close();
  EXPECT_EQ(handle->get(value), Status::bad_state);

  const auto fresh = SyncEvent::create();
  fresh->add_publisher_location_dpa(dpa);
  EXPECT_EQ(thrown_by([&] { fresh->add_publisher_location_dpa(dpa); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { fresh->add_subscriber_location_dpa(other); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { fresh->dpa_handle(*dpa); }), Status::invalid_value);
  fresh->add_subscriber_location_dpa(dpa);
  EXPECT_EQ(thrown_by([&] { fresh->as_context(); }), Status::not_supported);
  fresh->start();
}

#ifndef __SANITIZE_THREAD__  // it does not support the forks of a process with threads
TEST_F(DpaTest, AForkedChildHasNoneOfTheThreads) {
  const auto dpa = started();
  const auto never = event(nullptr, dpa);
  dpa->register_kernel("nothing", [](DpaThread&, const std::any&) {});
  const auto handle = never->dpa_handle(*dpa);
  const auto run = dpa->launch({.kernel = "nothing", .wait_event = handle});
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool right = run->wait() == Status::bad_state && handle->wait_gt(0, every_bit) == Status::bad_state &&
                       thrown_by([&] { dpa->launch({.kernel = "nothing"}); }) == Status::bad_state;
    dpa->close();
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  dpa->close();
}
#endif

/// Kernels that sleep in virtual time and add to an event; the order in which they come depends on the seed alone.
std::vector<std::uint32_t> ranks_in_virtual_time(const std::shared_ptr<Device>& device, std::uint64_t seed) {
  const sim::VirtualTime time(sim::VirtualTimeOptions{.seed = seed});
  const auto dpa = Dpa::create(device);
  dpa->start();
  std::mutex mutex;
  std::vector<std::uint32_t> ranks;
  dpa->register_kernel("mark", [&](DpaThread& thread, const std::any&) {
    for (int i = 0; i < 3; ++i) {
      static_cast<void>(sim::VirtualTime::wait(-1, sim::VirtualTime::now() + seconds(1)));
      const std::lock_guard lock(mutex);
      ranks.push_back(thread.rank());
    }
  });
  const auto begin = sim::VirtualTime::now();
  const auto run = dpa->launch({.kernel = "mark", .num_threads = 4});
  EXPECT_EQ(run->wait(seconds(2)), Status::time_out);
  EXPECT_EQ(run->wait(seconds(3600)), Status::success);
  EXPECT_EQ(sim::VirtualTime::now() - begin, seconds(3));
  dpa->close();
  sim::VirtualTime::leave();
  return ranks;
}

TEST_F(DpaTest, InVirtualTimeARunDependsOnTheSeedAlone) {
  std::set<std::vector<std::uint32_t>> orders;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const std::vector<std::uint32_t> ranks = ranks_in_virtual_time(device, seed);
    EXPECT_EQ(ranks.size(), 12U);
    EXPECT_EQ(ranks_in_virtual_time(device, seed), ranks);
    orders.insert(ranks);
  }
  EXPECT_GT(orders.size(), 1U);
}

}  // namespace
}  // namespace pydoca

/// An event between processes, and the end of a wait when the other process dies.

#include "rig/library/sync_event_rig.hpp"
#include "rig/process/process_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace pydoca {
namespace {

using enum SyncEventOperation;
using Blob = std::vector<std::byte>;

constexpr std::chrono::seconds watchdog{30};

/// Carries blobs and words from one process to another.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_.data()), 0); }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void write(const Blob& blob) const { EXPECT_EQ(::write(ends_[1], blob.data(), blob.size()), std::ssize(blob)); }
  bool is_empty() const {
    int bytes = 0;
    return ::ioctl(ends_[0], FIONREAD, &bytes) == 0 && bytes == 0;
  }
  Blob read() const {
    Blob blob(512);
    const ssize_t length = ::read(ends_[0], blob.data(), blob.size());
    blob.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    return blob;
  }

 private:
  std::array<int, 2> ends_{};
};

Blob ready() { return {std::byte{1}}; }

class SyncEventProcess : public SyncEventRigTest {
 protected:
  /// A child runs this: an event of the host's, which lives until the child is killed.
  static int own(const Pipe& pipe) {
    const auto device = open_function("pf0");
    const auto event = exported_event(device);
    event->start();
    pipe.write(event->export_to_remote_pci(*device));
    return event->wait_eq(99, all_bits, WaitMode::yield, watchdog) == Status::success ? 0 : 1;
  }
  /// In a child: imports the event from the pipe, confirms that, and stays until it is killed.
  static int import_and_stay(const Pipe& down, const Pipe& up) {
    const auto handle = SyncEvent::create_from_export(open_function("p0"), down.read());
    handle->start();
    up.write(ready());
    return handle->wait_eq(99, all_bits, WaitMode::yield, watchdog) == Status::success ? 0 : 1;
  }
  /// An event of the host's, once the child of import_and_stay() has it.
  static std::shared_ptr<SyncEvent> lent_to_importer(const Pipe& down, const Pipe& up) {
    const auto device = open_function("pf0");
    const auto event = exported_event(device);
    event->start();
    down.write(event->export_to_remote_pci(*device));
    EXPECT_EQ(up.read(), ready());
    return event;
  }
  static std::shared_ptr<SyncEvent> imported(const Blob& blob) {
    return SyncEvent::create_from_export(open_function("p0"), blob);
  }
  /// Kills the child while wait() waits; wait() must return.
  static void expect_reset(ChildProcess& child, const std::function<Status()>& wait) {
    std::thread killer([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      child.kill();
    });
    const Status status = wait();
    killer.join();
    EXPECT_EQ(status, Status::connection_reset);
  }
};

class SyncEventProcessWait : public SyncEventProcess, public testing::WithParamInterface<WaitMode> {};

TEST_P(SyncEventProcessWait, EndsWithAKilledOwner) {
  const Pipe pipe;
  ChildProcess owner([&] { return own(pipe); });
  const auto handle = imported(pipe.read());
  handle->start();
  expect_reset(owner, [&] { return handle->wait_eq(1, all_bits, GetParam(), watchdog); });
  EXPECT_EQ(handle->update_set(1), Status::connection_reset);
  std::uint64_t value = 0;
  EXPECT_EQ(handle->get(value), Status::connection_reset);
}

INSTANTIATE_TEST_SUITE_P(Modes, SyncEventProcessWait, testing::Values(WaitMode::busy, WaitMode::yield),
                         [](const auto& mode) { return mode.param == WaitMode::busy ? "Busy" : "Yield"; });

TEST_F(SyncEventProcess, AKilledOwnerFailsPendingTasks) {
  const Pipe pipe;
  ChildProcess owner([&] { return own(pipe); });
  EventRig rig(imported(pipe.read()), ProgressEngine::create());
  rig.submit(wait_eq, 1);
  rig.submit(wait_neq, 0);
  EXPECT_FALSE(rig.pe->wait(10)) << "there is nothing to deliver, so the engine sleeps";
  owner.kill();
  rig.sleep_until(2);
  EXPECT_EQ(rig.completions[0].status, Status::connection_reset);
  rig.submit(notify_add, 1);
  rig.progress_until(3);
  EXPECT_EQ(rig.completions[2].status, Status::connection_reset);
  EXPECT_EQ(rig.context->state(), ContextState::running);
}

TEST_F(SyncEventProcess, AKilledImporterEndsItsOwnersWait) {
  const Pipe down;
  const Pipe up;
  ChildProcess importer([&] { return import_and_stay(down, up); });
  const auto event = lent_to_importer(down, up);
  expect_reset(importer, [&] { return event->wait_eq(1, all_bits, WaitMode::busy, watchdog); });
  EXPECT_EQ(event->wait_eq(1, all_bits, WaitMode::busy, watchdog), Status::not_connected)
      << "one wait reports the death; then nobody is left";
}

TEST_F(SyncEventProcess, AKilledImporterEndsEveryWaitOfItsOwner) {
  const Pipe down;
  const Pipe up;
  ChildProcess importer([&] { return import_and_stay(down, up); });
  const auto event = lent_to_importer(down, up);
  std::array<Status, 4> statuses{};
  std::atomic<std::size_t> begun{0};
  std::vector<std::thread> waiters;
  for (Status& status : statuses) {
    waiters.emplace_back([&] {
      const WaitMode mode = begun.fetch_add(1) % 2 == 0 ? WaitMode::busy : WaitMode::yield;
      status = event->wait_eq(1, all_bits, mode, watchdog);
    });
  }
  while (begun.load() < statuses.size()) {
    std::this_thread::yield();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100) * slack);
  importer.kill();
  for (std::thread& waiter : waiters) {
    waiter.join();
  }
  EXPECT_THAT(statuses, testing::Each(Status::connection_reset));
  EXPECT_EQ(event->wait_eq(1, all_bits, WaitMode::busy, watchdog), Status::not_connected);
}

TEST_F(SyncEventProcess, AKilledImporterFailsItsOwnersPendingTasks) {
  const Pipe down;
  const Pipe up;
  ChildProcess importer([&] { return import_and_stay(down, up); });
  const auto device = open_function("pf0");
  const auto event = exported_event(device);
  EventRig rig(event, ProgressEngine::create());
  down.write(event->export_to_remote_pci(*device));
  ASSERT_EQ(up.read(), ready());
  rig.submit(wait_eq, 1);
  EXPECT_FALSE(rig.pe->wait(10)) << "there is nothing to deliver, so the engine sleeps";
  importer.kill();
  rig.sleep_until(1);
  EXPECT_EQ(rig.completions[0].status, Status::connection_reset);
}

class SyncEventProcessLeaving : public SyncEventProcess, public testing::WithParamInterface<bool> {};

TEST_P(SyncEventProcessLeaving, TheLastImporterEndsWaitsUnlessTheEventOutlivesIt) {
  const bool outlives = GetParam();
  const Pipe down;
  ChildProcess importer([&] {
    const auto handle = imported(down.read());
    handle->start();
    std::uint64_t before = 0;
    return handle->update_add(1, before) == Status::success ? 0 : 1;
  });
  const auto device = open_function("pf0");
  const auto event = exported_event(device);
  event->set_outlives_importers(outlives);
  event->start();
  EXPECT_THROW(event->set_outlives_importers(outlives), Error);
  down.write(event->export_to_remote_pci(*device));
  EXPECT_EQ(importer.wait(), 0);
  EXPECT_EQ(event->wait_eq(1, all_bits, WaitMode::busy, watchdog), Status::success);
  EXPECT_EQ(event->wait_eq(2, all_bits, WaitMode::yield, outlives ? std::chrono::milliseconds(150) : watchdog),
            outlives ? Status::time_out : Status::not_connected);
}

INSTANTIATE_TEST_SUITE_P(Outlives, SyncEventProcessLeaving, testing::Bool(),
                         [](const auto& outlives) { return outlives.param ? "Outlives" : "Ends"; });

TEST_F(SyncEventProcess, AnImportThatIsClosedLeavesItsOwnersEvent) {
  const auto device = open_function("pf0");
  const auto event = exported_event(device);
  event->start();
  const auto first = imported(event->export_to_remote_pci(*device));
  const auto second = imported(event->export_to_remote_pci(*device));
  first->start();
  first->close();
  EXPECT_EQ(event->wait_eq(2, all_bits, WaitMode::yield, std::chrono::milliseconds(150)), Status::time_out);
  second->close();
  EXPECT_EQ(event->wait_eq(2, all_bits, WaitMode::yield, watchdog), Status::not_connected);
}

TEST_F(SyncEventProcess, AdditionsOfManyProcessesAreExact) {
  constexpr std::uint64_t adds = 1'000'000 / slack;
  constexpr std::size_t processes = 8;
  const Pipe down;
  std::vector<std::unique_ptr<ChildProcess>> importers;
  for (std::size_t i = 0; i < processes; ++i) {
    importers.push_back(std::make_unique<ChildProcess>([&] {
      const auto handle = imported(down.read());
      handle->start();
      std::uint64_t before = 0;
      for (std::uint64_t n = 0; n < adds; ++n) {
        if (handle->update_add(1, before) != Status::success) {
          return 1;
        }
      }
      return 0;
    }));
  }
  const auto device = open_function("pf0");
  const auto event = exported_event(device);
  event->start();
  const Blob blob = event->export_to_remote_pci(*device);
  for (std::size_t i = 0; i < processes; ++i) {
    down.write(blob);
    // One at a time, so that a reader gets one blob.
    while (!down.is_empty()) {
      std::this_thread::yield();
    }
  }
  for (const auto& importer : importers) {
    EXPECT_EQ(importer->wait(), 0);
  }
  std::uint64_t sum = 0;
  EXPECT_EQ(event->get(sum), Status::success);
  EXPECT_EQ(sum, processes * adds);
}

}  // namespace
}  // namespace pydoca

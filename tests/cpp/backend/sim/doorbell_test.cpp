#include "backend/sim/counter/doorbell.hpp"

#include "pydoca/status.hpp"

#include "backend/sim/counter/importer_doorbell.hpp"
#include "backend/sim/counter/owner_doorbells.hpp"
#include "backend/sim/fabric/wakes.hpp"
#include "detail/fd.hpp"
#include "rig/pinned.hpp"
#include "rig/stress_time.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

namespace pydoca::sim {
namespace {

constexpr int soon = 20'000;  // ms

TEST(Doorbell, WakesOnceForEachTimeThatASideWasArmed) {
  Doorbell doorbell;
  EXPECT_FALSE(doorbell.take_owner());
  doorbell.arm_owner();
  EXPECT_FALSE(doorbell.take_importer());
  EXPECT_TRUE(doorbell.take_owner());
  EXPECT_FALSE(doorbell.take_owner());
}

TEST(Doorbell, AsksForARelayOnceUntilTheOwnerHasBegunIt) {
  Doorbell doorbell;
  EXPECT_FALSE(doorbell.ask_to_relay()) << "no other importer sleeps";
  doorbell.set_crowded();
  EXPECT_TRUE(doorbell.ask_to_relay());
  EXPECT_FALSE(doorbell.ask_to_relay());
  doorbell.clear_relay();
  EXPECT_TRUE(doorbell.ask_to_relay());
}

/// What an engine does with a descriptor that it watches.
class Sleep {
 public:
  explicit Sleep(int fd) : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {}};
    EXPECT_EQ(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event), 0);
  }
  bool operator()(int timeout = soon) const {
    epoll_event event{};
    return ::epoll_wait(epoll_.get(), &event, 1, timeout) == 1;
  }

 private:
  detail::Fd epoll_;
};

/// A counter with its owner and two importers, each a thread that sleeps whenever the protocol lets it: a lost wake-up
/// is a time-out. Another thread is the owner's service.
class DoorbellTable {
 public:
  static constexpr std::size_t importers = 2;
  static constexpr std::size_t owner = importers;

  DoorbellTable() {
    for (std::size_t i = 0; i < importers; ++i) {
      std::vector<detail::Fd> files = doorbells_.add(i + 1);
      std::array<int, 2> ends{};
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
      notes_[i] = detail::Fd(ends[0]);
      far_[i] = std::make_unique<ImporterDoorbell>(std::move(files[0]), std::move(files[1]), detail::Fd(ends[1]),
                                                   std::make_shared<Wakes>());
    }
    service_ = std::thread([this] { serve(); });
  }
  ~DoorbellTable() {
    far_ = {};  // ends the service
    service_.join();
  }

  void change(std::size_t self, std::uint64_t value) {
    word_.store(value, std::memory_order_seq_cst);
    self == owner ? doorbells_.ring() : far_[self]->ring();
  }
  bool wait(std::size_t self, const Sleep& sleep, std::uint64_t value) {
    while (word_.load(std::memory_order_seq_cst) != value) {
      self == owner ? doorbells_.arm() : far_[self]->arm();
      if (word_.load(std::memory_order_seq_cst) == value) {
        return true;
      }
      if (!sleep()) {
        return false;
      }
    }
    return true;
  }
  Sleep sleep_of(std::size_t self) const { return Sleep(self == owner ? doorbells_.wake_fd() : far_[self]->wake_fd()); }

 private:
  void serve() {
    std::array<pollfd, importers> files{};
    for (std::size_t i = 0; i < importers; ++i) {
      files[i] = {.fd = notes_[i].get(), .events = POLLIN, .revents = 0};
    }
    for (std::size_t open = importers; open > 0;) {
      ASSERT_GT(::poll(files.data(), files.size(), -1), 0);
      for (std::size_t i = 0; i < importers; ++i) {
        std::byte received{};
        if (files[i].revents == 0) {
          continue;
        }
        if (::recv(files[i].fd, &received, 1, 0) == 1) {
          doorbells_.hear(i + 1);
        } else {
          files[i].fd = -1;
          --open;
        }
      }
    }
  }

  OwnerDoorbells doorbells_{false};
  std::array<detail::Fd, importers> notes_;
  std::array<std::unique_ptr<ImporterDoorbell>, importers> far_;
  std::atomic<std::uint64_t> word_{0};
  std::thread service_;
};

/// The word goes round: first importer, second importer, owner.
TEST(Doorbell, LosesNoWakeUpBetweenAnOwnerAndTwoImporters) {
  constexpr std::uint64_t rounds = 10'000;
  constexpr std::uint64_t places = DoorbellTable::importers + 1;
  DoorbellTable table;
  std::atomic<std::uint64_t> last{rounds - 1};
  std::vector<std::thread> threads;
  for (std::size_t self = 0; self < DoorbellTable::importers; ++self) {
    threads.emplace_back([&, self] {
      const Sleep sleep = table.sleep_of(self);
      for (std::uint64_t i = 0; i <= last.load(); ++i) {
        ASSERT_TRUE(table.wait(self, sleep, places * i + self + 1)) << i;
        table.change(self, places * i + self + 2);
      }
    });
  }
  const Sleep sleep = table.sleep_of(DoorbellTable::owner);
  const StressTime time;
  for (std::uint64_t i = 0; i <= last.load(); ++i) {
    if (time.over()) {
      last.store(i);  // this comes before the importers can see this round
    }
    table.change(DoorbellTable::owner, places * i + 1);
    ASSERT_TRUE(table.wait(DoorbellTable::owner, sleep, places * (i + 1))) << i;
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

/// Threads of one process, which ThreadSanitizer can see: both use the same object.
TEST(Doorbell, TheSideThatWakesSaysWhereItRuns) {
  constexpr int rounds = 2000;
  const std::vector<unsigned> usable = usable_cpus();
  const unsigned near = usable.front();
  const unsigned far = usable.back();
  Doorbell doorbell;
  std::atomic<int> woken{0};
  std::thread changer([&] {
    pin_to({far});
    for (int round = 0; round < rounds;) {
      if (doorbell.take_importer()) {
        doorbell.owner_cpus().store(own_cpus());
        woken.store(++round, std::memory_order_release);
      }
    }
  });
  run_pinned(near, [&] {
    for (int round = 0; round < rounds; ++round) {
      doorbell.importer_cpus().store(own_cpus());
      doorbell.arm_importer();
      while (woken.load(std::memory_order_acquire) == round) {
        std::this_thread::yield();
      }
      ASSERT_EQ(doorbell.owner_cpus().load(), Cpus::only(far));
    }
  });
  changer.join();
  EXPECT_EQ(doorbell.importer_cpus().load(), Cpus::only(near));
  EXPECT_EQ(doorbell.owner_cpus().load().may_run_beside(own_cpus()), usable.size() > 1);
}

TEST(OwnerDoorbells, KnowWhereImportersRunWhateverTheySay) {
  const Cpus here = Cpus::only(0);
  OwnerDoorbells doorbells(false);
  EXPECT_FALSE(doorbells.may_change_elsewhere(here)) << "nobody has said anything";
  const std::vector<detail::Fd> first = doorbells.add(1);
  const std::vector<detail::Fd> second = doorbells.add(2);
  const auto page = SharedPage<Doorbell>::map(second[0].get());
  EXPECT_EQ((*page)->owner_cpus().load(), here);
  for (std::uint32_t word = 0; word <= 0xffff; ++word) {
    const Cpus said = Cpus::from_word(static_cast<std::uint16_t>(word));
    (*page)->importer_cpus().store(said);
    ASSERT_EQ(doorbells.may_change_elsewhere(here), said != Cpus() && said != here) << word;
  }
  EXPECT_FALSE(OwnerDoorbells(false).may_change_elsewhere(here));
  EXPECT_TRUE(OwnerDoorbells(true).may_change_elsewhere(here)) << "nobody says who changes the user's memory";
  doorbells.remove(2);
  EXPECT_FALSE(doorbells.may_change_elsewhere(here));
}

TEST(OwnerDoorbells, TellImportersWhereTheOwnerRunsAndWhereOthersMadeAChange) {
  OwnerDoorbells doorbells(false);
  const std::vector<detail::Fd> first = doorbells.add(1);
  const std::vector<detail::Fd> second = doorbells.add(2);
  const auto page = SharedPage<Doorbell>::map(first[0].get());
  const auto changers = SharedPage<Doorbell>::map(second[0].get());
  static_cast<void>(doorbells.may_change_elsewhere(Cpus::only(5)));
  EXPECT_EQ((*page)->owner_cpus().load(), Cpus::only(5));
  const unsigned cpu = usable_cpus().front();
  (*page)->arm_importer();
  run_pinned(cpu, [&] { doorbells.ring(); });
  EXPECT_EQ((*page)->owner_cpus().load(), Cpus::only(cpu));
  (*changers)->importer_cpus().store(Cpus::only(7));
  (*page)->arm_importer();
  doorbells.hear(2);
  EXPECT_EQ((*page)->owner_cpus().load(), Cpus::only(7)) << "the second importer's change, by way of the owner";
}

TEST(OwnerDoorbells, ReplacesWhatALeavingImporterHad) {
  OwnerDoorbells doorbells(false);
  const std::vector<detail::Fd> first = doorbells.add(1);
  const std::vector<detail::Fd> second = doorbells.add(2);
  doorbells.remove(1);
  doorbells.ring();
  std::byte byte{};
  EXPECT_EQ(::recv(first[1].get(), &byte, 1, MSG_DONTWAIT), 0) << "the end of the socket";
  EXPECT_EQ(::recv(second[1].get(), &byte, 1, MSG_DONTWAIT), -1) << "it does not sleep";
  const std::vector<detail::Fd> third = doorbells.add(3);
  const auto page = SharedPage<Doorbell>::map(third[0].get());
  (*page)->arm_importer();
  doorbells.ring();
  EXPECT_EQ(::recv(third[1].get(), &byte, 1, MSG_DONTWAIT), 1);
}

TEST(OwnerDoorbells, RefusesMoreImportersThanItHasPlacesFor) {
  OwnerDoorbells doorbells(false);
  for (Service::Id id = 1; id <= 100; ++id) {
    static_cast<void>(doorbells.add(id));
    doorbells.remove(id);
  }
  std::vector<std::vector<detail::Fd>> files;
  try {
    for (Service::Id id = 1; id <= OwnerDoorbells::max_importers + 1; ++id) {
      files.push_back(doorbells.add(id));
      files.back().clear();  // this process keeps the owner's ends only
    }
    FAIL() << "there was room for all of them";
  } catch (const Error& error) {
    EXPECT_TRUE(error.status() == Status::full || error.status() == Status::operating_system) << error.what();
  }
}

/// An importer can make its end a blocking one and leave it full: only the importer notices.
TEST(Wakes, AreSentAlsoToASocketThatBlocksAndIsFull) {
  const auto [here, there] = create_wake_sockets();
  for (const int end : {here.get(), there.get()}) {
    ASSERT_EQ(::fcntl(end, F_SETFL, 0), 0);
  }
  for (int i = 0; i < 100'000; ++i) {
    send_wake(here.get());
  }
  drain_wakes(here.get());
  drain_wakes(here.get());
}

}  // namespace
}  // namespace pydoca::sim

#include "backend/sim/counter/doorbell.hpp"

#include "model/explorer/event.hpp"
#include "model/model_test.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <sys/eventfd.h>
#include <utility>

namespace pydoca::model {
namespace {

using detail::Atomic;
using sim::Doorbell;

/// Where a model leaves out, or exchanges, a step of the engine.
enum class Slip : std::uint8_t { none, no_wake_of_new_sleepers, late_clear_of_relay, no_wake_at_removal };

/// A counter with its owner and importers. What memory maps and sockets keep out of the model is here step by step as
/// in OwnerDoorbells, ImporterDoorbell and counter.cpp. A file of a side's wake-ups replaces its Wakes.
template <std::size_t num_importers, Slip slip = Slip::none>
struct Table {
  static constexpr std::size_t owner = num_importers;

  void check() {}

  // counter.cpp.
  void store(std::size_t self, std::uint64_t value) {
    word.store(value, std::memory_order_seq_cst);
    self == owner ? ring_all() : ring(self);
  }
  void add(std::size_t self, std::uint64_t value) {
    word.fetch_add(value, std::memory_order_seq_cst);
    self == owner ? ring_all() : ring(self);
  }
  /// An engine whose only context waits for the counter: it arms, looks again and sleeps.
  void wait(std::size_t self, std::uint64_t value) {
    EdgeWatch watch(wakes[self]);
    for (;;) {
      self == owner ? arm_all() : arm(self);
      if (word.load(std::memory_order_seq_cst) >= value) {
        return;
      }
      watch.sleep();
    }
  }

  // ImporterDoorbell.
  void ring(std::size_t self) {
    if (doorbells[self].take_owner()) {
      wake(owner);
    }
    if (doorbells[self].ask_to_relay()) {
      send_wake_byte(self);
    }
  }
  void arm(std::size_t self) {
    doorbells[self].arm_importer();
    if (!is_known_sleeper[self]) {
      doorbells[self].set_sleeper();
      send_wake_byte(self);
      is_known_sleeper[self] = true;
    }
  }
  void send_wake_byte(std::size_t self) { ::eventfd_write(wake_bytes, eventfd_t{1} << (8 * self)); }

  // OwnerDoorbells.
  void ring_all() {
    if (armed.load(std::memory_order_seq_cst) != 0) {
      ring_owner();
    }
    for (std::size_t slot = 0; slot < num_importers; ++slot) {
      wake_slot(slot);
    }
  }
  void ring_owner() {
    if (armed.exchange(0, std::memory_order_seq_cst) != 0) {
      wake(owner);
    }
  }
  void arm_all() {
    armed.store(1, std::memory_order_seq_cst);
    for (Doorbell& doorbell : doorbells) {
      doorbell.arm_owner();
    }
  }
  void hear(std::size_t slot) {
    const bool is_new = doorbells[slot].is_sleeper() && !std::exchange(sleepers[slot], true);
    for (std::size_t other = 0; is_new && other < num_importers; ++other) {
      if (other != slot) {
        doorbells[other].set_crowded();
      }
    }
    if (slip != Slip::late_clear_of_relay) {
      doorbells[slot].clear_relay();
    }
    wake_others(slot);
    if (slip == Slip::late_clear_of_relay) {
      doorbells[slot].clear_relay();
    }
    if (is_new && num_importers > 1 && slip != Slip::no_wake_of_new_sleepers) {
      wake_slot(slot);
    }
  }
  void remove(std::size_t slot) {
    wake(owner);
    if (slip != Slip::no_wake_at_removal) {
      wake_others(slot);
    }
  }
  void wake_others(std::size_t slot) {
    for (std::size_t other = 0; other < num_importers; ++other) {
      if (other != slot) {
        wake_slot(other);
      }
    }
  }
  void wake_slot(std::size_t slot) {
    if (doorbells[slot].take_importer()) {
      wake(slot);
    }
  }
  void wake(std::size_t side) { ::eventfd_write(wakes[side], 1); }

  // The owner's service: it hears wake bytes until the importers have gone, each of which is a leave() or a death.
  void leave() { ::eventfd_write(wake_bytes, eventfd_t{1} << 32); }
  void serve(std::size_t num_present) {
    while (num_present > 0) {
      sleep_on(wake_bytes);
      eventfd_t heard = 0;
      ::eventfd_read(wake_bytes, &heard);
      for (std::size_t slot = 0; slot < num_importers; ++slot) {
        if ((heard >> (8 * slot) & 0xff) != 0) {
          hear(slot);
        }
      }
      num_present -= heard >> 32;
    }
  }
  void add_service(std::size_t num_present) {
    execution().add_thread("service", [this, num_present] { serve(num_present); });
  }

  std::array<Doorbell, num_importers> doorbells;
  Atomic<std::uint64_t> word{0};
  Atomic<std::uint32_t> armed{0};
  std::array<bool, num_importers> sleepers{};          ///< the service's
  std::array<bool, num_importers> is_known_sleeper{};  ///< each the importer's
  std::array<int, num_importers + 1> wakes = make_wakes();
  const int wake_bytes = event_files().create(0);

 private:
  static std::array<int, num_importers + 1> make_wakes() {
    std::array<int, num_importers + 1> files{};
    for (int& file : files) {
      file = event_files().create(0);
    }
    return files;
  }
};

/// The only importer: nothing is relayed.
struct TakeTurns : Table<1> {
  void start() {
    execution().add_thread("owner", [this] {
      store(owner, 1);
      wait(owner, 2);
    });
    execution().add_thread("importer", [this] {
      wait(0, 1);
      store(0, 2);
    });
  }
};

struct OwnerTwice : Table<1> {
  void start() {
    execution().add_thread("owner", [this] {
      store(owner, 1);
      store(owner, 2);
    });
    execution().add_thread("importer", [this] { wait(0, 2); });
  }
};

/// A thread of the owner changes what its sleeper waits for.
struct OwnersThread : Table<1> {
  void start() {
    execution().add_thread("owner", [this] { wait(owner, 2); });
    execution().add_thread("owner's thread", [this] { add(owner, 1); });
    execution().add_thread("importer", [this] { add(0, 1); });
  }
};

/// An importer's change reaches one that falls asleep for the first time.
template <Slip slip = Slip::none>
struct Relay : Table<2, slip> {
  void start() {
    execution().add_thread("publisher", [this] {
      this->store(0, 1);
      this->leave();
    });
    execution().add_thread("sleeper", [this] {
      this->wait(1, 1);
      this->leave();
    });
    this->add_service(2);
  }
};

/// The sleeper is known; the publisher asks for a relay, and may ask again before the owner has begun it.
template <Slip slip = Slip::none>
struct RelayTwice : Table<2, slip> {
  RelayTwice() {
    this->sleepers[1] = this->is_known_sleeper[1] = true;
    this->doorbells[1].set_sleeper();
    this->doorbells[0].set_crowded();
  }
  void start() {
    execution().add_thread("publisher", [this] {
      this->store(0, 1);
      this->store(0, 2);
      this->leave();
    });
    execution().add_thread("sleeper", [this] {
      this->wait(1, 2);
      this->leave();
    });
    this->add_service(2);
  }
};

/// An importer is killed at any step: it may have changed the counter, or taken the owner's flag, and not have woken
/// those who sleep. The service, which notices the death, changes the counter if the importer has not.
template <Slip slip = Slip::none>
struct KilledPublisher : Table<2, slip> {
  KilledPublisher() {
    this->sleepers[1] = this->is_known_sleeper[1] = true;
    this->doorbells[1].set_sleeper();
    this->doorbells[0].set_crowded();
  }
  void start() {
    execution().add_thread("publisher", [this] { this->add(0, 1); });
    execution().add_thread("sleeper", [this] { this->wait(1, 1); });
    execution().add_thread("owner", [this] { this->wait(this->owner, 1); });
    execution().add_thread("service", [this] {
      execution().kill(0);
      this->remove(0);
      if (this->word.load(std::memory_order_seq_cst) == 0) {
        this->add(this->owner, 1);
      }
    });
  }
};

/// More of everything, at random.
struct Crowd : Table<3> {
  void start() {
    for (const std::size_t self : {0U, 1U, 2U}) {
      execution().add_thread("importer", [this, self] {
        wait(self, self);
        add(self, 1);
        wait(self, 4);
        leave();
      });
    }
    execution().add_thread("owner", [this] {
      add(owner, 1);
      wait(owner, 4);
    });
    add_service(3);
  }
};

TEST(DoorbellModel, ACrowdAtRandom) { expect_holds_at_random<Crowd>(); }
TEST(DoorbellModel, OwnerAndImporterSleepInTurn) { expect_holds<TakeTurns>(); }
TEST(DoorbellModel, TheOwnerWakesAnImporterAgain) { expect_holds<OwnerTwice>(); }
TEST(DoorbellModel, OwnThreadsAndImportersWakeTheOwner) { expect_holds<OwnersThread>(); }
TEST(DoorbellModel, AnImportersChangeReachesANewSleeper) { expect_holds<Relay<>>(); }
TEST(DoorbellModel, AnImportersChangesReachAnother) { expect_holds<RelayTwice<>>(); }
TEST(DoorbellModel, SurvivesAPublisherThatIsKilled) { expect_holds<KilledPublisher<>>(); }

template <class Model>
void expect_sleeps_for_ever() {
  EXPECT_THAT(explore_all<Model>({}).failure, testing::HasSubstr("sleeps for ever"));
}

TEST(DoorbellModel, FindsThatEachStepOfTheOwnerIsNeeded) {
  expect_sleeps_for_ever<Relay<Slip::no_wake_of_new_sleepers>>();
  expect_sleeps_for_ever<RelayTwice<Slip::late_clear_of_relay>>();
  expect_sleeps_for_ever<KilledPublisher<Slip::no_wake_at_removal>>();
}

TEST(DoorbellModel, FindsWhatWouldLoseAWakeUp) {
  expect_finds<OwnerTwice>({Fault::weaken, "Doorbell::arm_importer"});
  expect_finds<OwnerTwice>({Fault::late, "Doorbell::arm_importer"});
  expect_finds<OwnerTwice>({Fault::blind, "Doorbell::take"});
  expect_finds<TakeTurns>({Fault::weaken, "Doorbell::arm_owner"});
  expect_finds<TakeTurns>({Fault::late, "Doorbell::arm_owner"});
  expect_finds<TakeTurns>({Fault::late, "::store"});
  expect_finds<OwnersThread>({Fault::split, "::add"});
}

TEST(DoorbellModel, FindsWhatWouldLoseARelay) {
  expect_finds<Relay<>>({Fault::late, "Doorbell::set_sleeper"});
  expect_finds<Relay<>>({Fault::blind, "Doorbell::is_sleeper"});
  expect_finds<RelayTwice<>>({Fault::blind, "Doorbell::ask_to_relay", "load"});
  expect_finds<RelayTwice<>>({Fault::late, "Doorbell::clear_relay"});
  expect_finds<RelayTwice<>>({Fault::weaken, "Doorbell::clear_relay"});
}

}  // namespace
}  // namespace pydoca::model

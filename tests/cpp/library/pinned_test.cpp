/// Whether an engine looks before it sleeps, as the CPUs of those that it waits for decide it.

#include "rig/pinned.hpp"

#include "library/sync_event/sync_event.hpp"
#include "rig/library/comch_rig.hpp"
#include "rig/library/rdma_rig.hpp"
#include "rig/library/sync_event_rig.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <thread>
#include <vector>

namespace pydoca {
namespace {

using namespace std::chrono_literals;

/// Two sides, each with an engine, that take turns: each waits until the other has done something.
class Exchange {
 public:
  virtual ~Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // A round, each in a thread of its own.
  virtual void play_near() = 0;
  virtual void play_far() = 0;

  const std::shared_ptr<ProgressEngine> near = ProgressEngine::create();
  const std::shared_ptr<ProgressEngine> far = ProgressEngine::create();
  bool far_sleeps = true;  ///< else it polls, and gives its CPU away at times

 protected:
  Exchange() = default;
  void wait_until(ProgressEngine& engine, const std::function<bool()>& done) const {
    const auto end = std::chrono::steady_clock::now() + 50s;
    while (!done() && std::chrono::steady_clock::now() < end) {
      if (far_sleeps || &engine != far.get()) {
        engine.wait(1'000);
      } else {
        std::this_thread::yield();
      }
      engine.drain(1'000);
    }
    ASSERT_TRUE(done());
  }
};

class EventExchange final : public Exchange {
 public:
  EventExchange() {
    near->release_thread();
    far->release_thread();
  }
  void play_near() override {
    near_value_ += 2;
    owner_.submit(SyncEventOperation::notify_set, near_value_ - 1);
    owner_.submit(SyncEventOperation::wait_eq, near_value_);
    wait_until(*near, [this] { return owner_.completions.size() == near_value_; });
  }
  void play_far() override {
    far_value_ += 2;
    importer_.submit(SyncEventOperation::wait_eq, far_value_ - 1);
    wait_until(*far, [this] { return importer_.completions.size() == far_value_ - 1; });
    importer_.submit(SyncEventOperation::notify_set, far_value_);
    wait_until(*far, [this] { return importer_.completions.size() == far_value_; });
  }

 private:
  const std::shared_ptr<Device> host_ = open_function("pf0");
  const std::shared_ptr<SyncEvent> event_ = exported_event(host_);
  EventRig owner_{event_, near};
  EventRig importer_{SyncEvent::create_from_export(open_function("p0"), event_->export_to_remote_pci(*host_)), far};
  std::uint64_t near_value_ = 0;
  std::uint64_t far_value_ = 0;
};

class ComchExchange final : public Exchange {
 public:
  ComchExchange() {
    server_.start();
    client_.start();
    EXPECT_TRUE(comch::run_until({near.get(), far.get()}, [this] {
      return client_.is(ContextState::running) && server_.events.connected.size() == 1;
    }));
    near->release_thread();
    far->release_thread();
  }
  ~ComchExchange() override {
    client_.stop();
    server_.stop();
  }
  void play_near() override {
    EXPECT_EQ(client_.send(pattern(3)), Status::success);
    wait_until(*near, [this] { return client_.events.messages.size() == near_round_ + 1; });
    ++near_round_;
  }
  void play_far() override {
    wait_until(*far, [this] { return server_.events.messages.size() == far_round_ + 1; });
    ++far_round_;
    EXPECT_EQ(server_.send(*server_.events.connected.front(), pattern(3)), Status::success);
    wait_until(*far, [this] { return server_.events.sent.size() == far_round_; });
  }

 private:
  comch::ServerSide server_{"pinned", far};
  comch::ClientSide client_{"pinned", near};
  std::size_t near_round_ = 0;
  std::size_t far_round_ = 0;
};

class RdmaExchange final : public Exchange {
 public:
  RdmaExchange() {
    for (RdmaRig* const rig : {&host_, &dpu_}) {
      EXPECT_EQ(rig->rdma->start(), Status::success);
    }
    connect_by_details(host_, dpu_, there_, back_);
    EXPECT_TRUE(run_until({&host_, &dpu_}, [this] { return host_.ups.size() == 1 && dpu_.ups.size() == 1; }));
    near->release_thread();
    far->release_thread();
  }
  void play_near() override { play(host_, there_); }
  void play_far() override { play(dpu_, back_); }

 private:
  /// Both send, and both receive.
  void play(RdmaRig& rig, const std::shared_ptr<RdmaConnection>& connection) const {
    const std::size_t before = rig.completions.size();
    rig.submit(&Rdma::receive, nullptr);
    rig.submit(&Rdma::send, *connection, nullptr);
    wait_until(*rig.pe, [&] { return rig.completions.size() == before + 2; });
  }

  RdmaRig host_{open_function("pf0"), near};
  RdmaRig dpu_{open_function("p0"), far};
  std::shared_ptr<RdmaConnection> there_;
  std::shared_ptr<RdmaConnection> back_;
};

struct Kind {
  const char* name;
  std::unique_ptr<Exchange> (*make)();
};
template <class T>
std::unique_ptr<Exchange> make() {
  return std::make_unique<T>();
}
std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }

/// Where the two sides run for a while, and whether looking may pay for them.
struct Phase {
  std::vector<unsigned> near;
  std::vector<unsigned> far;
  bool elsewhere;
};

/// Each side asks the system for its CPUs at times, and tells the other by the next thing that it does.
constexpr int most_rounds = 1000;
constexpr int steady_rounds = 40;

/// The threads of the two sides: they stay the same ones, as their CPUs change.
class Players {
 public:
  Players(Exchange& exchange, const std::vector<Phase>& phases)
      : exchange_(exchange), phases_(phases), last_rounds_(phases.size()) {
    for (std::atomic<int>& round : last_rounds_) {
      round.store(INT_MAX);
    }
  }
  void play() {
    std::thread far([this] { play_far(); });
    std::thread([this] { play_near(); }).join();
    far.join();
  }

 private:
  void play_near() {
    for (std::size_t i = 0; i < phases_.size(); ++i) {
      pin_to(phases_[i].near);
      int steady = 0;
      // The last round is not judged: the other side may have ended it, and have moved on to the next phase.
      for (int round = 1; round <= last_rounds_[i].load(); ++round) {
        const bool is_last = steady == steady_rounds || round == most_rounds || testing::Test::HasFatalFailure();
        if (is_last) {
          last_rounds_[i].store(round);  // this comes before the other side plays it
        }
        exchange_.play_near();
        const bool near_agrees = exchange_.near->may_advance_elsewhere() == phases_[i].elsewhere;
        const bool far_agrees = !exchange_.far_sleeps || far_decision_.load() == phases_[i].elsewhere;
        if (!is_last) {
          steady = near_agrees && far_agrees ? steady + 1 : 0;
        }
      }
      EXPECT_GE(steady, steady_rounds) << "in phase " << i;
    }
    exchange_.near->release_thread();
  }
  void play_far() {
    for (std::size_t i = 0; i < phases_.size(); ++i) {
      pin_to(phases_[i].far);
      for (int round = 1; round <= last_rounds_[i].load(); ++round) {
        exchange_.play_far();
        far_decision_.store(exchange_.far->may_advance_elsewhere());
      }
    }
    exchange_.far->release_thread();
  }

  Exchange& exchange_;
  const std::vector<Phase>& phases_;
  std::vector<std::atomic<int>> last_rounds_;
  std::atomic<bool> far_decision_{false};
};

class Pinned : public SyncEventRigTest, public testing::WithParamInterface<Kind> {};

/// Both sides on one CPU, then apart, then on the other one, and so on.
std::vector<Phase> moves() {
  const std::vector<unsigned> all = usable_cpus();
  const std::vector<unsigned> one{all.front()};
  const std::vector<unsigned> other{all.back()};
  return {
      {one, one, false}, {one, other, true}, {one, one, false}, {other, other, false}, {other, one, true},
      {one, one, false}, {all, one, true},   {one, one, false}, {one, all, true},      {all, all, true},
  };
}

TEST_P(Pinned, LooksIfThePeerMayRunBesideWhereverBothAreMoved) {
  if (usable_cpus().size() < 2) {
    GTEST_SKIP() << "this process may run on one CPU only";
  }
  const std::unique_ptr<Exchange> exchange = GetParam().make();
  const std::vector<Phase> phases = moves();
  Players(*exchange, phases).play();
}

/// Such a peer says where it runs when it wakes this side, and in its messages.
TEST_P(Pinned, KnowsWhereAPeerIsThatNeverSleeps) {
  if (usable_cpus().size() < 2) {
    GTEST_SKIP() << "this process may run on one CPU only";
  }
  const std::unique_ptr<Exchange> exchange = GetParam().make();
  exchange->far_sleeps = false;
  const std::vector<Phase> phases = moves();
  Players(*exchange, phases).play();
}

INSTANTIATE_TEST_SUITE_P(Kinds, Pinned,
                         testing::Values(Kind{"Events", &make<EventExchange>}, Kind{"Comch", &make<ComchExchange>},
                                         Kind{"Rdma", &make<RdmaExchange>}),
                         [](const auto& made) { return made.param.name; });

/// An engine that waits for nothing but itself.
TEST(PinnedEngine, SleepsAtOnceUntilItKnowsOfAnother) {
  const std::vector<unsigned> usable = usable_cpus();
  EXPECT_EQ(ProgressEngine::create()->may_advance_elsewhere(), usable.size() > 1);
  run_pinned(usable.front(), [] {
    const auto engine = ProgressEngine::create();
    EXPECT_FALSE(engine->may_advance_elsewhere());
    engine->request_notification();
    engine->clear_notification();
    EXPECT_FALSE(engine->may_advance_elsewhere());
  });
}

class PinnedWait : public SyncEventRigTest {};

/// A synchronous wait tells the other side where it runs, and asks where that is.
TEST_F(PinnedWait, KnowsWhereTheOtherSideWaits) {
  const std::shared_ptr<Device> host = open_function("pf0");
  const std::shared_ptr<SyncEvent> event = exported_event(host);
  event->start();
  const std::shared_ptr<SyncEvent> imported =
      SyncEvent::create_from_export(open_function("p0"), event->export_to_remote_pci(*host));
  imported->start();
  backend::Counter& own = *library::of(*event).counter_;
  backend::Counter& theirs = *library::of(*imported).counter_;
  for (const unsigned cpu : usable_cpus()) {
    run_pinned(cpu, [&] { EXPECT_EQ(imported->wait_eq(1, all_bits, WaitMode::busy, 1ms), Status::time_out); });
    EXPECT_FALSE(own.may_change_elsewhere(Cpus::only(cpu)));
    EXPECT_TRUE(own.may_change_elsewhere(Cpus::only(cpu + 1)));
    run_pinned(cpu, [&] { EXPECT_EQ(event->wait_eq(1, all_bits, WaitMode::busy, 1ms), Status::time_out); });
    EXPECT_FALSE(theirs.may_change_elsewhere(Cpus::only(cpu)));
    EXPECT_TRUE(theirs.may_change_elsewhere(Cpus::only(cpu + 1)));
  }
  imported->close();
  event->close();
}

}  // namespace
}  // namespace pydoca

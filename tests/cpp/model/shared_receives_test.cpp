#include "backend/sim/rdma/shared_receives.hpp"

#include "backend/sim/inbox/inbox_doorbell.hpp"
#include "detail/ready_list.hpp"
#include "model/explorer/event.hpp"
#include "model/model_test.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <sys/eventfd.h>

namespace pydoca::model {
namespace {

using detail::Atomic;
using Order = std::memory_order;

/// The context to notify of operations that fail; none fails here.
struct NoContext final : detail::ReadyNode {
  bool progress_one(bool& /*more*/) noexcept override { return false; }
};

/// A context that receives, and two queue pairs that send to it one or two messages each. The steps of QueuePair are
/// here as in queue_pair_send.cpp and queue_pair_receive.cpp. A record of a ring is the number of a receive.
/// takes_wishes_back, looks_early: whether a sender and the context do a step as the engine does, and as it did.
template <bool takes_wishes_back = true, bool looks_early = false>
struct ReceivingContext {
  static constexpr std::size_t num_slots = 2;
  struct Sender {
    sim::PeerInbox inbox;  ///< by which the context tells it
    sim::InboxDoorbell doorbell;
    std::array<std::uint64_t, 3> ring{};
    Atomic<std::uint32_t> written{0};
    std::uint32_t read = 0;  ///< the context's
    bool wants_receive = false;
  };

  ReceivingContext() {
    for (std::size_t index = 0; index < num_slots; ++index) {
      receive_queue.close(index);
    }
  }
  void check() {}

  // A sender.
  bool take(std::uint32_t self, std::uint64_t& number) {
    Sender& sender = senders[self];
    if (sender.wants_receive && takes_wishes_back && !sender.doorbell.may_take()) {
      return false;
    }
    const auto taken = receive_queue.take(self);
    sender.wants_receive = !taken.has_value();
    if (sender.wants_receive) {
      sender.doorbell.want_receive();
    }
    number = taken.has_value() ? taken->number : 0;
    return taken.has_value();
  }
  void send(std::uint32_t self, EdgeWatch& watch) {
    Sender& sender = senders[self];
    std::uint64_t number = 0;
    // An engine tries again also when it was not told of a receive.
    while (!take(self, number)) {
      tell();
      if (take(self, number)) {
        break;
      }
      tell();
      watch.sleep();
    }
    const std::uint32_t written = sender.written.load(Order::relaxed);
    sender.ring[written] = number;
    sender.written.store(written + 1, Order::release);
    tell();
  }
  void send_all(std::uint32_t self, int count) {
    EdgeWatch watch(senders[self].inbox.wakes.fd());
    for (; count > 0; --count) {
      send(self, watch);
    }
  }
  /// The doorbell and the sleep are mailbox_test.cpp's.
  void tell() { ::eventfd_write(work, 1); }

  // The context.
  void attend(std::uint32_t number) {
    sim::InboxDoorbell& doorbell = senders[number].doorbell;
    if (looks_early) {
      take_records(number);
    }
    const bool wants = doorbell.begin_want();
    if (!looks_early) {
      take_records(number);
    }
    if (wants) {
      receives.tell_of_next(number, doorbell);
    }
  }
  void take_records(std::uint32_t number) {
    Sender& sender = senders[number];
    while (sender.read < sender.written.load(Order::acquire)) {
      const std::uint64_t sent_to = sender.ring[sender.read++];
      std::uint64_t receive = sent_to;
      require(receives.take(receive, number) != nullptr && receive == sent_to, "a receive has one message");
      receives.retire(receive);
      ++num_received;
    }
  }
  void receive(std::size_t count) {
    EdgeWatch watch(work);
    for (std::size_t i = 0; i < count; ++i) {
      receives.post(operations[i]);
    }
    while (num_received < count) {
      watch.sleep();
      attend(0);
      attend(1);
    }
  }

  sim::ReceiveQueueState state;
  std::array<sim::ReceiveSlot, num_slots> slots{};
  sim::ReceiveQueue receive_queue{state, slots};
  NoContext context;
  sim::Completions completions{context, 2};
  sim::SharedReceives receives{receive_queue, num_slots, 2, completions};
  std::array<backend::RdmaOperation, 4> operations{};
  std::array<Sender, 2> senders;
  const int work = event_files().create(0);
  std::size_t num_received = 0;
};

template <bool takes_wishes_back = true, bool looks_early = false>
struct TwoSenders : ReceivingContext<takes_wishes_back, looks_early> {
  TwoSenders() {
    this->receives.set_peer(0, &this->senders[0].inbox);
    this->receives.set_peer(1, &this->senders[1].inbox);
  }
  void start() {
    execution().add_thread("context", [this] { this->receive(2); });
    execution().add_thread("sender 0", [this] { this->send_all(0, 1); });
    execution().add_thread("sender 1", [this] { this->send_all(1, 1); });
  }
};

/// A sender is connected before the context is, and takes a receive.
template <bool is_admitted>
struct EarlySender : ReceivingContext<> {
  EarlySender() {
    if (is_admitted) {
      receives.admit(0);
    }
    receives.set_peer(1, &senders[1].inbox);
    receives.post(operations[0]);
  }
  void start() {
    execution().add_thread("sender 0", [this] { early = this->receive_queue.take(0).has_value(); });
    execution().add_thread("context", [this] {
      if (senders[1].doorbell.begin_want()) {
        receives.tell_of_next(1, senders[1].doorbell);
      }
    });
    execution().add_thread("sender 1", [this] {
      senders[1].doorbell.want_receive();
      late = senders[1].doorbell.may_take() && this->receive_queue.take(1).has_value();
    });
  }
  void check() {
    const bool again = this->receive_queue.take(1).has_value();
    require(early + late + again == 1, "a receive has one sender");
  }
  bool early = false;
  bool late = false;
};

/// The context may look for records, and the sender send one and wish for the next receive, before the context looks
/// for the wish.
template <bool takes_wishes_back = true, bool looks_early = false>
struct OneSender : ReceivingContext<takes_wishes_back, looks_early> {
  OneSender() { this->receives.set_peer(0, &this->senders[0].inbox); }
  void start() {
    execution().add_thread("context", [this] { this->receive(3); });
    execution().add_thread("sender", [this] { this->send_all(0, 3); });
  }
};

/// A search of all schedules takes a million executions, and finds nothing.
TEST(SharedReceivesModel, EachReceiveHasOneMessage) { expect_holds_at_random<TwoSenders<>>(); }
TEST(SharedReceivesModel, ASenderWaitsForReceives) { expect_holds<OneSender<>>(); }

TEST(SharedReceivesModel, ASenderMayBeConnectedFirst) { expect_holds<EarlySender<true>>(); }

TEST(SharedReceivesModel, FindsAReceiveThatIsGivenTwice) {
  EXPECT_THAT((explore_all<EarlySender<false>>({}).failure), testing::HasSubstr("a receive has one sender"));
  EXPECT_THAT((explore_all<TwoSenders<false>>({}).failure), testing::HasSubstr("a receive has one message"));
  EXPECT_THAT((explore_all<OneSender<true, true>>({}).failure), testing::HasSubstr("a receive has one message"));
}

}  // namespace
}  // namespace pydoca::model

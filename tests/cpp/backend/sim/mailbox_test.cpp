#include "backend/sim/inbox/mailbox.hpp"

#include <gtest/gtest.h>

#include <sys/eventfd.h>
#include <vector>

namespace pydoca::sim {
namespace {

/// A mailbox and a peer's view of it.
class MailboxTest : public testing::Test {
 protected:
  std::vector<std::uint32_t> pending() {
    std::vector<std::uint32_t> peers;
    own_.take_pending([&](std::uint32_t peer) { peers.push_back(peer); });
    return peers;
  }
  bool empty_event_file() {
    eventfd_t ignored = 0;
    return ::eventfd_read(own_.event_fd(), &ignored) == 0;
  }

  Mailbox own_{0};
  Mailbox peers_{detail::Fd::duplicate_of(own_.file()), detail::Fd::duplicate_of(own_.event_fd())};
};

TEST_F(MailboxTest, APeerWakesAnOwnerThatSleeps) {
  peers_.tell(70);
  EXPECT_FALSE(empty_event_file());
  EXPECT_TRUE(own_.has_pending());
  EXPECT_EQ(pending(), std::vector<std::uint32_t>{70});
  own_.fall_asleep();
  peers_.tell(1);
  EXPECT_TRUE(own_.wake_up());
  EXPECT_EQ(pending(), std::vector<std::uint32_t>{1});
  EXPECT_FALSE(own_.has_pending());
}

TEST_F(MailboxTest, ADeathWakesAnOwnerWhoseFlagThePeerHadTaken) {
  own_.fall_asleep();
  peers_.tell(5);
  ASSERT_TRUE(empty_event_file());  // as if the peer had been killed before it wrote
  own_.tell_of_death(5);
  EXPECT_TRUE(empty_event_file());
  EXPECT_EQ(pending(), std::vector<std::uint32_t>{5});
}

}  // namespace
}  // namespace pydoca::sim

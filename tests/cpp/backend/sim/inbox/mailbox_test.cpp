#include "backend/sim/inbox/mailbox.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <vector>

namespace pydoca::sim {
namespace {

/// A mailbox with two peers.
class MailboxTest : public testing::Test {
 protected:
  MailboxTest() {
    mailbox_.watch(sockets_.first.get());
    mailbox_.add(70, first_, sockets_.first.get());
    mailbox_.add(1, second_, sockets_.first.get());
  }

  std::vector<std::uint32_t> pending() {
    std::vector<std::uint32_t> peers;
    mailbox_.take_pending([&](std::uint32_t peer) { peers.push_back(peer); });
    return peers;
  }
  bool is_woken() {
    pollfd file{.fd = mailbox_.wake_fd(), .events = POLLIN, .revents = 0};
    return ::poll(&file, 1, 0) == 1;
  }
  void tell(InboxDoorbell& doorbell) {
    if (doorbell.ring()) {
      send_wake(sockets_.second.get());
    }
  }

  const std::pair<detail::Fd, detail::Fd> sockets_ = create_wake_sockets();
  InboxDoorbell first_;
  InboxDoorbell second_;
  Mailbox mailbox_;
};

TEST_F(MailboxTest, APeerWakesAnOwnerThatSleeps) {
  tell(first_);
  EXPECT_FALSE(is_woken());
  EXPECT_TRUE(mailbox_.has_pending());
  EXPECT_EQ(pending(), std::vector<std::uint32_t>{70});
  mailbox_.fall_asleep();
  tell(second_);
  EXPECT_TRUE(is_woken());
  mailbox_.wake_up();
  EXPECT_EQ(pending(), std::vector<std::uint32_t>{1});
  EXPECT_FALSE(mailbox_.has_pending());
}

TEST_F(MailboxTest, ANoticeWakesAnOwnerWhoseFlagAPeerHadTaken) {
  mailbox_.fall_asleep();
  ASSERT_TRUE(first_.ring());  // and the peer is killed before it wakes the owner
  ASSERT_FALSE(is_woken());
  mailbox_.notify(70);
  EXPECT_TRUE(is_woken());
  EXPECT_EQ(pending(), (std::vector<std::uint32_t>{70, 70})) << "the notice and the doorbell";
}

TEST_F(MailboxTest, DoesNotAskAPeerThatWasRemoved) {
  tell(first_);
  tell(second_);
  mailbox_.remove(70);
  EXPECT_EQ(pending(), std::vector<std::uint32_t>{1});
  EXPECT_FALSE(mailbox_.has_pending());
}

}  // namespace
}  // namespace pydoca::sim

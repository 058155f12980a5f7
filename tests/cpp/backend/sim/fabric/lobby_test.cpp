#include "backend/sim/fabric/lobby.hpp"

#include "backend/sim/fabric/fabric.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <poll.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace pydoca::sim {
namespace {

using namespace std::chrono_literals;

class LobbyTest : public testing::Test {
 protected:
  LobbyTest() { lobby.add(listen_at(address, Lobby::backlog)); }

  detail::Fd connect() const {
    Status status = Status::success;
    detail::Fd peer = connect_to(address, status);
    EXPECT_EQ(status, Status::success);
    return peer;
  }
  detail::Fd connect_and_speak() const {
    detail::Fd peer = connect();
    EXPECT_EQ(::send(peer.get(), "hello", 5, 0), 5);
    return peer;
  }
  static bool is_readable(int fd, int timeout = 0) {
    pollfd event{.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&event, 1, timeout) == 1;
  }

  std::vector<Status> turned_away;
  Address address = fabric_address("lobby-" + std::to_string(::getpid()), "test", "");
  Lobby lobby{"test", [this](int, Status why) { turned_away.push_back(why); }, 200ms};
};

TEST_F(LobbyTest, GivesThePeersThatSpeak) {
  const detail::Fd silent = connect();
  const detail::Fd speaks = connect_and_speak();
  const detail::Fd peer = lobby.next();
  ASSERT_TRUE(peer);
  char text[8];
  EXPECT_EQ(::recv(peer.get(), text, sizeof text, 0), 5);
  EXPECT_FALSE(lobby.next());
  EXPECT_FALSE(is_readable(lobby.fd()));
  EXPECT_EQ(::send(silent.get(), "hello", 5, 0), 5);
  EXPECT_TRUE(is_readable(lobby.fd()));
  EXPECT_TRUE(lobby.next());
}

TEST_F(LobbyTest, GivesAPeerThatLeaves) {
  detail::Fd silent = connect();
  EXPECT_FALSE(lobby.next());
  silent.reset();
  const detail::Fd peer = lobby.next();
  ASSERT_TRUE(peer);
  char byte = 0;
  EXPECT_EQ(::recv(peer.get(), &byte, 1, 0), 0);
}

TEST_F(LobbyTest, SilenceEnds) {
  const detail::Fd silent = connect();
  EXPECT_FALSE(lobby.next());
  EXPECT_TRUE(is_readable(lobby.fd(), 10'000));
  EXPECT_FALSE(lobby.next());
  EXPECT_EQ(turned_away, std::vector{Status::time_out});
  EXPECT_TRUE(is_readable(silent.get())) << "its connection has ended";
  EXPECT_FALSE(is_readable(lobby.fd()));
}

TEST_F(LobbyTest, SilentPeersMakeRoomForOthers) {
  std::vector<detail::Fd> silent;
  for (std::size_t i = 0; i < 3 * Lobby::max_silent; ++i) {
    silent.push_back(connect());
    if (i % 32 == 0) {
      EXPECT_FALSE(lobby.next());
    }
  }
  const detail::Fd speaks = connect_and_speak();
  detail::Fd peer;
  for (int i = 0; i < 10 && !peer; ++i) {
    peer = lobby.next();
  }
  EXPECT_TRUE(peer);
  EXPECT_EQ(turned_away, std::vector(2 * Lobby::max_silent, Status::full));
  EXPECT_TRUE(is_readable(silent.front().get())) << "the oldest has left";
}

TEST_F(LobbyTest, TellsOnceThatItsBacklogMayHaveBeenFull) {
  std::vector<detail::Fd> peers;
  for (int i = 0; i < Lobby::backlog; ++i) {
    peers.push_back(connect());
  }
  EXPECT_FALSE(lobby.next());
  EXPECT_FALSE(lobby.take_overflow()) << "its work of one call ends before that of the backlog";
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(lobby.next());
  }
  EXPECT_TRUE(lobby.take_overflow());
  EXPECT_FALSE(lobby.take_overflow());
}

TEST_F(LobbyTest, ForgetsASocket) {
  const detail::Fd silent = connect();
  Status status = Status::success;
  for (int fd = 3; fd < 64; ++fd) {
    lobby.remove(fd);
  }
  EXPECT_FALSE(connect_to(address, status));
  EXPECT_EQ(status, Status::not_found);
}

}  // namespace
}  // namespace pydoca::sim

#include "backend/sim/channel_rig.hpp"
#include "rig/process/no_descriptors.hpp"
#include "rig/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

namespace pydoca::sim {
namespace {

TEST_F(Channel, AnotherVersionIsRefused) {
  listener_ = listen();
  const detail::Fd fd = hostile();
  HelloFrame frame;
  const auto hello = encode(Hello{channel_options, fabric_, channel_function, "copy"}, frame);
  frame[4] = std::byte{99};
  EXPECT_EQ(send_frame(fd.get(), FrameType::hello, hello), Status::success);
  server_ = listener_->accept(true);
  EXPECT_EQ(establish(*server_), Status::unsupported_version);
  std::size_t length = 0;
  HelloFrame reply;
  ASSERT_EQ(receive_frame(fd.get(), FrameType::answer, reply, length), Status::success);
  Answer answer;
  ASSERT_EQ(decode(std::span(reply).first(length), answer), Status::success);
  EXPECT_EQ(answer.status, Status::unsupported_version);
}

TEST_F(Channel, AHelloSaysNothingOfItsSender) {
  listener_ = listen();
  const detail::Fd fd = hostile();
  HelloFrame frame;
  const auto hello = encode(Hello{channel_options, fabric_, channel_function, "copy"}, frame);
  EXPECT_EQ(send_frame(fd.get(), FrameType::hello, hello, Cpus::several()), Status::success);
  server_ = listener_->accept(true);
  EXPECT_EQ(establish(*server_), Status::connection_aborted);
}

TEST_F(Channel, APeerMayLieAboutWhereItRuns) {
  listener_ = listen();
  const detail::Fd fd = hostile_client();
  const Cpus here = Cpus::only(0);
  for (std::uint32_t word = 0; word <= 0xffff; word += 5) {
    const Cpus said = Cpus::from_word(static_cast<std::uint16_t>(word));
    ASSERT_EQ(send_frame(fd.get(), FrameType::message, pattern(9), said), Status::success);
    Bytes message;
    ASSERT_EQ(receive(*server_, message), Status::success);
    EXPECT_EQ(message, pattern(9));
    EXPECT_EQ(server_->may_advance_elsewhere(here), said != Cpus() && said != here) << word;
  }
}

TEST_F(Channel, WhatADeadPeerSentIsReceivedFirst) {
  connect();
  // Messages that the peer has not read make the kernel report a reset before the rest.
  ASSERT_EQ(server_->send(pattern(3)), Status::success);
  for (std::size_t i = 1; i <= 5; ++i) {
    ASSERT_EQ(client_->send(pattern(i)), Status::success);
  }
  client_.reset();
  EXPECT_EQ(server_->send(pattern(1)), Status::connection_reset);
  Bytes message;
  for (std::size_t i = 1; i <= 5; ++i) {
    ASSERT_EQ(receive(*server_, message), Status::success);
    EXPECT_EQ(message, pattern(i));
  }
  EXPECT_EQ(receive(*server_, message), Status::connection_reset);
  EXPECT_EQ(receive(*server_, message), Status::connection_reset);
}

TEST_F(Channel, AServerThatGoesBeforeAnsweringResets) {
  listener_ = listen();
  client_ = dial()->attempt();
  EXPECT_EQ(client_->establish(), Status::again);
  listener_.reset();
  EXPECT_EQ(establish(*client_), Status::connection_reset);
}

TEST_F(Channel, AHostilePacketEndsItsChannel) {
  listener_ = listen();
  const auto end_of = [&](const void* packet, std::size_t size) {
    const detail::Fd fd = hostile_client();
    EXPECT_EQ(::send(fd.get(), packet, size, 0), static_cast<ssize_t>(size));
    Bytes message;
    return receive(*server_, message);
  };
  const Bytes zeros(8000);
  EXPECT_EQ(end_of(zeros.data(), 3), Status::connection_aborted) << "too short";
  EXPECT_EQ(end_of(zeros.data(), 100), Status::connection_aborted) << "unknown type";
  EXPECT_EQ(end_of(zeros.data(), 0), Status::connection_reset) << "empty";
  Bytes oversize(4 + 4081);
  oversize[0] = std::byte{3};
  EXPECT_EQ(end_of(oversize.data(), oversize.size()), Status::connection_aborted) << "oversize";
  oversize[0] = std::byte{1};
  EXPECT_EQ(end_of(oversize.data(), 50), Status::connection_aborted) << "a second hello";
}

TEST_F(Channel, DescriptorsOfAHostilePeerNeverArrive) {
  listener_ = listen();
  const detail::Fd fd = hostile_client();
  const std::size_t before = count_descriptors();
  constexpr std::size_t count = 253;
  std::array<int, count> sent{};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof sent)> control{};
  FrameType type = FrameType::message;
  iovec part{&type, sizeof type};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  packet.msg_control = control.data();
  packet.msg_controllen = control.size();
  cmsghdr* header = CMSG_FIRSTHDR(&packet);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof sent);
  std::memcpy(CMSG_DATA(header), sent.data(), sizeof sent);
  ASSERT_EQ(::sendmsg(fd.get(), &packet, 0), static_cast<ssize_t>(sizeof type));
  Bytes message;
  EXPECT_EQ(receive(*server_, message), Status::connection_aborted);
  EXPECT_EQ(count_descriptors(), before);
}

TEST_F(Channel, GarbageForAHelloIsRefused) {
  listener_ = listen();
  for (int i = 0; i < 200; ++i) {
    const detail::Fd fd = hostile();
    Bytes garbage = pattern(1 + static_cast<std::size_t>(i) * 37 % 1500, static_cast<unsigned>(i) + 1);
    if (i % 2 == 0 && garbage.size() > 4) {
      std::fill_n(garbage.begin(), 4, std::byte{});
      garbage[0] = std::byte{1};
    }
    ASSERT_EQ(::send(fd.get(), garbage.data(), garbage.size(), 0), static_cast<ssize_t>(garbage.size()));
    server_ = listener_->accept(true);
    const Status status = establish(*server_);
    EXPECT_TRUE(status == Status::connection_aborted || status == Status::invalid_value) << error_name(status);
  }
}

TEST_F(Channel, GarbageForAnAnswerIsRefused) {
  const ChannelIdentity identity = channel_identity(fabric_, channel_function, "copy", channel_options);
  const ListeningSocket listener = listen_at(fabric_address(fabric_, channel_purpose, channel_key(identity)), 8);
  client_ = dial()->attempt();
  Status status{};
  const detail::Fd fd = accept_peer(listener.fd.get(), status);
  HelloFrame frame;
  // A peer that answers "again" must not make this side wait.
  EXPECT_EQ(send_frame(fd.get(), FrameType::answer, encode(Answer{Status::again, channel_options, "?"}, frame)),
            Status::success);
  EXPECT_EQ(establish(*client_), Status::connection_aborted);
}

/// This process is another user for a while.
class AsUser {
 public:
  explicit AsUser(uid_t user) : before_(::geteuid()) {
    EXPECT_EQ(::seteuid(0), 0);
    EXPECT_EQ(::seteuid(user), 0);
  }
  ~AsUser() {
    EXPECT_EQ(::seteuid(0), 0);
    EXPECT_EQ(::seteuid(before_), 0);
  }
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;

 private:
  uid_t before_;
};

/// Where the fabric is for a while: a directory of that user, whatever others have put in /tmp.
class DirectoryOf {
 public:
  explicit DirectoryOf(uid_t user) {
    EXPECT_EQ(::chown(directory_.path().c_str(), user, user), 0);
    ::setenv("PYDOCA_FABRIC_DIR", directory_.path().c_str(), 1);
  }
  ~DirectoryOf() { ::unsetenv("PYDOCA_FABRIC_DIR"); }
  DirectoryOf(const DirectoryOf&) = delete;
  DirectoryOf& operator=(const DirectoryOf&) = delete;

 private:
  const TemporaryDirectory directory_;
};

/// Root can reach every directory.
TEST_F(Channel, ConnectionsOfAnotherUserDoNotLoseAClient) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "needs root, to be two users";
  }
  constexpr uid_t other_user = 65534;
  const DirectoryOf directory(other_user);
  const AsUser server(other_user);
  listener_ = listen();
  const ChannelIdentity identity = channel_identity(fabric_, channel_function, "copy", channel_options);
  const Address address = fabric_address(fabric_, channel_purpose, channel_key(identity));
  std::vector<detail::Fd> foreign;
  {
    const AsUser root(0);
    Status status = Status::not_permitted;  // the status of each that the backlog took: the server is another user
    while (foreign.size() < 1000 && status != Status::again) {
      foreign.emplace_back(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      const int result = ::connect(foreign.back().get(), SocketName(address).get(), SocketName::length);
      status = result == 0 ? Status::success : Status::again;
    }
  }
  EXPECT_GT(foreign.size(), 100U);
  const auto dialer = dial();
  EXPECT_EQ(dialer->attempt(), nullptr);
  while (readable(listener_->fd())) {
    EXPECT_EQ(listener_->accept(true), nullptr);
  }
  EXPECT_TRUE(readable(dialer->fd(), 5000)) << "the client is called";
  EXPECT_NE(dialer->attempt(), nullptr);
  listener_.reset();
}

TEST_F(Channel, AServerWithoutDescriptorsRefusesAloud) {
  if (sanitizer_needs_descriptors) {
    GTEST_SKIP() << "the sanitizer itself needs descriptors";
  }
  listener_ = listen();
  const auto first = dial()->attempt();
  const auto second = dial()->attempt();
  {
    const NoDescriptors none;
    EXPECT_EQ(listener_->accept(true), nullptr);
    EXPECT_EQ(listener_->accept(true), nullptr);
    EXPECT_FALSE(readable(listener_->fd())) << "the backlog would keep the server busy";
  }
  EXPECT_EQ(establish(*first), Status::full);
  EXPECT_EQ(establish(*second), Status::full);
  client_ = dial()->attempt();
  server_ = listener_->accept(true);
  ASSERT_NE(server_, nullptr);
  EXPECT_EQ(establish(*server_), Status::success);
}

TEST_F(Channel, AClientWithoutDescriptorsIsTold) {
  if (sanitizer_needs_descriptors) {
    GTEST_SKIP() << "the sanitizer itself needs descriptors";
  }
  auto dialer = dial();
  {
    const NoDescriptors none;
    client_ = dialer->attempt();
  }
  ASSERT_NE(client_, nullptr);
  EXPECT_EQ(client_->establish(), Status::operating_system);
  EXPECT_NE(client_->refusal(), "");
}

}  // namespace
}  // namespace pydoca::sim

#include "backend/sim/comch/channel.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/fabric/frame.hpp"
#include "backend/sim/fabric/hello.hpp"
#include "rig/bytes.hpp"
#include "rig/expect_error.hpp"
#include "rig/process_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <poll.h>
#include <random>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <vector>

namespace pydoca::sim {
namespace {

using backend::ChannelOptions;

constexpr std::string_view function = "0000:0b:00.0";
constexpr ChannelOptions options{.max_msg_size = 4080, .recv_queue_size = 64};

bool readable(int fd, int timeout_ms = 0) {
  pollfd event{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&event, 1, timeout_ms) > 0;
}

/// Waits for what is sure to come.
Status establish(backend::Channel& channel) {
  Status status = Status::again;
  for (int i = 0; i < 100 && (status = channel.establish()) == Status::again; ++i) {
    readable(channel.fd(), 1000);
  }
  return status;
}

Status receive(backend::Channel& channel, Bytes& message) {
  message.assign(4080, std::byte{});
  std::size_t length = 0;
  const Status status = channel.receive(message, length);
  message.resize(length);
  return status;
}

class Channel : public FabricTest {
 protected:
  std::unique_ptr<backend::Listener> listen(std::string_view service = "copy") {
    return sim::listen(fabric_, function, service, options);
  }
  std::unique_ptr<backend::Dialer> dial(std::string_view service = "copy") {
    return sim::dial(fabric_, function, service, options);
  }
  void connect(const ChannelOptions& of_client = options) {
    listener_ = listen();
    client_ = sim::dial(fabric_, function, "copy", of_client)->attempt();
    ASSERT_NE(client_, nullptr);
    server_ = listener_->accept(true);
    ASSERT_NE(server_, nullptr);
    ASSERT_EQ(establish(*server_), Status::success);
    ASSERT_EQ(establish(*client_), Status::success);
  }
  /// A peer that does not follow the rules, already connected.
  detail::Fd hostile() {
    Status status{};
    const ChannelIdentity identity = channel_identity(fabric_, function, "copy", options);
    return connect_to(fabric_address(fabric_, channel_kind, channel_key(identity)), status);
  }
  /// One whose hello was in order.
  detail::Fd hostile_client() {
    detail::Fd fd = hostile();
    HelloFrame frame;
    EXPECT_EQ(send_frame(fd.get(), FrameKind::hello, encode(Hello{options, fabric_, function, "copy"}, frame)),
              Status::success);
    server_ = listener_->accept(true);
    EXPECT_EQ(establish(*server_), Status::success);
    return fd;
  }

  std::unique_ptr<backend::Listener> listener_;
  std::unique_ptr<backend::Channel> client_;
  std::unique_ptr<backend::Channel> server_;
};

TEST_F(Channel, CarriesMessagesBothWaysInOrder) {
  connect();
  EXPECT_EQ(client_->max_msg_size(), 4080U);
  Bytes message;
  for (std::size_t length = 0; length <= 4080; length += 17) {
    const Bytes sent = pattern(length);
    ASSERT_EQ(client_->send(sent), Status::success);
    ASSERT_EQ(receive(*server_, message), Status::success);
    ASSERT_EQ(message, sent);
    ASSERT_EQ(server_->send(sent), Status::success);
    ASSERT_EQ(receive(*client_, message), Status::success);
    ASSERT_EQ(message, sent);
  }
  EXPECT_EQ(receive(*client_, message), Status::again);
}

TEST_F(Channel, TakesTheSmallerLimit) {
  connect({.max_msg_size = 100, .recv_queue_size = 1});
  EXPECT_EQ(client_->max_msg_size(), 100U);
  EXPECT_EQ(server_->max_msg_size(), 100U);
  EXPECT_EQ(server_->send(pattern(100)), Status::success);
  EXPECT_EQ(server_->send(pattern(101)), Status::invalid_value);
}

TEST_F(Channel, SenderWaitsWhenNobodyReads) {
  connect({.max_msg_size = 4080, .recv_queue_size = 4});
  const Bytes message = pattern(4080);
  int sent = 0;
  while (sent < 10000 && server_->send(message) == Status::success) {
    ++sent;
  }
  EXPECT_GE(sent, 4);
  EXPECT_LE(sent, 8);
  Bytes received;
  for (int i = 0; i < sent; ++i) {
    ASSERT_EQ(receive(*client_, received), Status::success);
  }
  pollfd event{.fd = server_->fd(), .events = POLLOUT, .revents = 0};
  EXPECT_EQ(::poll(&event, 1, 0), 1);
  EXPECT_EQ(server_->send(message), Status::success);
}

TEST_F(Channel, OneServerPerNameAndRepresentor) {
  auto first = listen();
  EXPECT_EQ(thrown_by([&] { listen(); }), Status::already_exist);
  EXPECT_NE(listen("other"), nullptr);
  EXPECT_NE(sim::listen(fabric_, "0000:0b:00.1", "copy", options), nullptr);
  EXPECT_NE(sim::listen(fabric_ + "2", function, "copy", options), nullptr);
  std::filesystem::remove(fabric_path(fabric_ + "2"));
  first.reset();
  EXPECT_NE(listen(), nullptr);
}

TEST_F(Channel, RefusesImpossibleNamesAndLimits) {
  EXPECT_EQ(thrown_by([&] { listen(""); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { dial(std::string(max_hello_text + 1, 'x')); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { dial(std::string_view("a\0b", 3)); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { sim::dial(fabric_, function, "copy", {.max_msg_size = 0, .recv_queue_size = 1}); }),
            Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { sim::dial(fabric_, function, "copy", {.max_msg_size = 1, .recv_queue_size = 0}); }),
            Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { sim::dial(fabric_, function, "copy", {.max_msg_size = 1U << 30, .recv_queue_size = 1}); }),
            Status::invalid_value);
}

TEST_F(Channel, TheLongestNameMeets) {
  const std::string name(max_hello_text, 'n');
  listener_ = listen(name);
  client_ = dial(name)->attempt();
  ASSERT_NE(client_, nullptr);
  server_ = listener_->accept(true);
  EXPECT_EQ(establish(*server_), Status::success);
  EXPECT_EQ(establish(*client_), Status::success);
}

TEST_F(Channel, AClientTooManyIsToldSo) {
  listener_ = listen();
  client_ = dial()->attempt();
  ASSERT_NE(client_, nullptr);
  server_ = listener_->accept(false);
  EXPECT_EQ(server_->establish(), Status::full);
  server_.reset();
  EXPECT_EQ(establish(*client_), Status::full);
  EXPECT_NE(client_->refusal().find("as many clients"), std::string_view::npos) << client_->refusal();
}

TEST_F(Channel, AClientOfSomethingElseIsRefused) {
  listener_ = listen();
  const detail::Fd fd = hostile();
  HelloFrame frame;
  send_frame(fd.get(), FrameKind::hello, encode(Hello{options, fabric_, function, "other"}, frame));
  server_ = listener_->accept(true);
  EXPECT_EQ(establish(*server_), Status::not_found);
  EXPECT_NE(server_->refusal().find("other"), std::string_view::npos);
}

TEST_F(Channel, AnotherVersionIsRefused) {
  listener_ = listen();
  const detail::Fd fd = hostile();
  HelloFrame frame;
  const auto hello = encode(Hello{options, fabric_, function, "copy"}, frame);
  frame[4] = std::byte{99};
  send_frame(fd.get(), FrameKind::hello, hello);
  server_ = listener_->accept(true);
  EXPECT_EQ(establish(*server_), Status::unsupported_version);
  std::size_t length = 0;
  HelloFrame reply;
  ASSERT_EQ(receive_frame(fd.get(), FrameKind::answer, reply, length), Status::success);
  Answer answer;
  ASSERT_EQ(decode(std::span(reply).first(length), answer), Status::success);
  EXPECT_EQ(answer.status, Status::unsupported_version);
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
  EXPECT_EQ(end_of(zeros.data(), 100), Status::connection_aborted) << "unknown kind";
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
  FrameKind kind = FrameKind::message;
  iovec part{&kind, sizeof kind};
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
  ASSERT_EQ(::sendmsg(fd.get(), &packet, 0), static_cast<ssize_t>(sizeof kind));
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
  const ChannelIdentity identity = channel_identity(fabric_, function, "copy", options);
  const detail::Fd listener = listen_at(fabric_address(fabric_, channel_kind, channel_key(identity)), 8);
  client_ = dial()->attempt();
  Status status{};
  const detail::Fd fd = accept_peer(listener.get(), status);
  HelloFrame frame;
  // An "again" of the peer's must not be waited for.
  send_frame(fd.get(), FrameKind::answer, encode(Answer{Status::again, options, "?"}, frame));
  EXPECT_EQ(establish(*client_), Status::connection_aborted);
}

TEST_F(Channel, ADialerIsWokenByTheServerThatStarts) {
  auto dialer = dial();
  EXPECT_EQ(dialer->attempt(), nullptr);
  EXPECT_FALSE(readable(dialer->fd()));
  auto other = listen("other");
  EXPECT_TRUE(readable(dialer->fd(), 5000)) << "any server wakes";
  EXPECT_EQ(dialer->attempt(), nullptr);
  EXPECT_FALSE(readable(dialer->fd())) << "and that is taken note of";
  listener_ = listen();
  EXPECT_TRUE(readable(dialer->fd(), 5000));
  EXPECT_NE(dialer->attempt(), nullptr);
}

TEST_F(Channel, ADialerFollowsADirectoryThatIsMadeAnew) {
  auto dialer = dial();
  EXPECT_EQ(dialer->attempt(), nullptr);
  std::filesystem::remove(fabric_path(fabric_));
  EXPECT_TRUE(readable(dialer->fd(), 5000));
  EXPECT_EQ(dialer->attempt(), nullptr);
  while (readable(dialer->fd())) {
    EXPECT_EQ(dialer->attempt(), nullptr);
  }
  listener_ = listen();
  EXPECT_TRUE(readable(dialer->fd(), 5000));
  EXPECT_NE(dialer->attempt(), nullptr);
}

TEST_F(Channel, ClientsBeyondTheBacklogAreCalledLater) {
  listener_ = listen();
  std::vector<std::unique_ptr<backend::Channel>> early;
  auto dialer = dial();
  std::unique_ptr<backend::Channel> channel;
  while (early.size() < 1000 && (channel = dialer->attempt()) != nullptr) {
    early.push_back(std::move(channel));
  }
  ASSERT_LT(early.size(), 1000U);
  EXPECT_FALSE(readable(dialer->fd()));
  std::size_t accepted = 0;
  while (listener_->accept(true) != nullptr) {
    ++accepted;
  }
  EXPECT_EQ(accepted, early.size());
  EXPECT_TRUE(readable(dialer->fd(), 5000));
  EXPECT_NE(dialer->attempt(), nullptr);
}

/// Leaves this process without a free descriptor.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &old_);
    rlimit low = old_;
    low.rlim_cur = 100;
    ::setrlimit(RLIMIT_NOFILE, &low);
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) {
      taken_.emplace_back(fd);
    }
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &old_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit old_{};
  std::vector<detail::Fd> taken_;
};

/// UBSan opens a pipe to look at an object's type, and takes its failing for a broken object.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool sanitizer_needs_descriptors = true;
#else
constexpr bool sanitizer_needs_descriptors = false;
#endif

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

TEST(Hello, SurvivesEncoding) {
  HelloFrame frame;
  Hello hello;
  ASSERT_EQ(decode(encode(Hello{options, "lab", function, "copy"}, frame), hello), Status::success);
  EXPECT_EQ(hello.fabric, "lab");
  EXPECT_EQ(hello.pci_addr, function);
  EXPECT_EQ(hello.service, "copy");
  EXPECT_EQ(hello.options.max_msg_size, 4080U);
  EXPECT_EQ(hello.options.recv_queue_size, 64U);
}

TEST(Hello, LongTextsAreCut) {
  HelloFrame frame;
  const std::string text(1000, 'x');
  Answer answer;
  ASSERT_EQ(decode(encode(Answer{Status::full, options, text}, frame), answer), Status::success);
  EXPECT_EQ(answer.reason.size(), max_hello_text);
}

TEST(Hello, EveryTruncationAndExtensionIsRefused) {
  HelloFrame frame;
  const auto bytes = encode(Hello{options, "lab", function, "copy"}, frame);
  Hello hello;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));  // its own block, for ASan
    EXPECT_NE(decode(part, hello), Status::success) << length;
  }
  EXPECT_EQ(decode(std::span(frame).first(bytes.size() + 1), hello), Status::invalid_value);
}

TEST(Hello, NoFlippedBitIsTakenForTheSame) {
  HelloFrame frame;
  const auto encoded = encode(Hello{options, "lab", function, "copy"}, frame);
  for (std::size_t bit = 0; bit < encoded.size() * 8; ++bit) {
    Bytes bytes(encoded.begin(), encoded.end());
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    Hello hello;
    const bool same = decode(bytes, hello) == Status::success && hello.fabric == "lab" && hello.pci_addr == function &&
                      hello.service == "copy" && hello.options.max_msg_size == options.max_msg_size &&
                      hello.options.recv_queue_size == options.recv_queue_size;
    EXPECT_FALSE(same) << bit;
  }
}

}  // namespace
}  // namespace pydoca::sim

#include "backend/sim/channel_rig.hpp"
#include "rig/expect_error.hpp"
#include "rig/pinned.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <poll.h>
#include <string>
#include <vector>

namespace pydoca::sim {
namespace {

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

TEST_F(Channel, AMessageSaysWhereItsSenderRuns) {
  connect();
  const std::vector<unsigned> usable = usable_cpus();
  Bytes message;
  EXPECT_FALSE(client_->may_advance_elsewhere(Cpus::only(usable.front()))) << "the server has sent nothing yet";
  for (const unsigned cpu : usable) {
    run_pinned(cpu, [&] {
      static_cast<void>(server_->may_advance_elsewhere(own_cpus()));  // its engine does so before it sleeps
      ASSERT_EQ(server_->send(pattern(3)), Status::success);
    });
    ASSERT_EQ(receive(*client_, message), Status::success);
    EXPECT_EQ(message, pattern(3));
    EXPECT_FALSE(client_->may_advance_elsewhere(Cpus::only(cpu)));
    EXPECT_TRUE(client_->may_advance_elsewhere(Cpus::only(cpu + 1)));
    EXPECT_TRUE(client_->may_advance_elsewhere(Cpus::several()));
  }
}

TEST_F(Channel, ASenderThatNeverSleepsSaysWhereItRunsAsWell) {
  connect();
  Bytes message;
  const auto runs_on = [&](unsigned cpu) {
    EXPECT_EQ(server_->send(pattern(3)), Status::success);
    EXPECT_EQ(receive(*client_, message), Status::success);
    return client_->may_advance_elsewhere(Cpus::only(cpu + 1)) && !client_->may_advance_elsewhere(Cpus::only(cpu));
  };
  const std::vector<unsigned> usable = usable_cpus();
  run_pinned(usable.front(), [&] {
    EXPECT_TRUE(runs_on(usable.front()));
    pin_to({usable.back()});
    int sent = 1;
    while (!runs_on(usable.back()) && sent < 100) {
      ++sent;
    }
    EXPECT_LT(sent, 100);
  });
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
  EXPECT_NE(sim::listen(fabric_, "0000:0b:00.1", "copy", channel_options), nullptr);
  EXPECT_NE(sim::listen(fabric_ + "2", channel_function, "copy", channel_options), nullptr);
  first.reset();
  EXPECT_NE(listen(), nullptr);
}

TEST_F(Channel, RefusesImpossibleNamesAndLimits) {
  EXPECT_EQ(thrown_by([&] { listen(""); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { dial(std::string(max_hello_text + 1, 'x')); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { dial(std::string_view("a\0b", 3)); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { sim::dial(fabric_, channel_function, "copy", {.max_msg_size = 0, .recv_queue_size = 1}); }),
            Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { sim::dial(fabric_, channel_function, "copy", {.max_msg_size = 1, .recv_queue_size = 0}); }),
            Status::invalid_value);
  EXPECT_EQ(thrown_by([&] {
              sim::dial(fabric_, channel_function, "copy", {.max_msg_size = 1U << 30, .recv_queue_size = 1});
            }),
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
  EXPECT_EQ(
      send_frame(fd.get(), FrameType::hello, encode(Hello{channel_options, fabric_, channel_function, "other"}, frame)),
      Status::success);
  server_ = listener_->accept(true);
  EXPECT_EQ(establish(*server_), Status::not_found);
  EXPECT_NE(server_->refusal().find("other"), std::string_view::npos);
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
  std::filesystem::remove(FabricDirectory(fabric_).path());
  EXPECT_TRUE(readable(dialer->fd(), 5000));
  EXPECT_EQ(dialer->attempt(), nullptr);
  while (readable(dialer->fd())) {
    EXPECT_EQ(dialer->attempt(), nullptr);
  }
  listener_ = listen();
  EXPECT_TRUE(readable(dialer->fd(), 5000));
  EXPECT_NE(dialer->attempt(), nullptr);
}

TEST_F(Channel, ADialerFollowsADirectoryThatSomebodyKeepsOpen) {
  auto dialer = dial();
  EXPECT_EQ(dialer->attempt(), nullptr);
  const detail::Fd kept = FabricDirectory(fabric_).open();  // its end is not reported then
  std::filesystem::remove(FabricDirectory(fabric_).path());
  listener_ = listen();
  EXPECT_TRUE(readable(dialer->fd(), 5000));
  EXPECT_NE(dialer->attempt(), nullptr);
}

TEST_F(Channel, ADirectoryIsRemovedByTheLastThatUsesIt) {
  const std::filesystem::path path = FabricDirectory(fabric_).path();
  auto dialer = dial();
  EXPECT_EQ(dialer->attempt(), nullptr);
  EXPECT_TRUE(std::filesystem::exists(path));
  listener_ = listen();
  dialer.reset();
  EXPECT_TRUE(std::filesystem::exists(path)) << "the server is in it";
  listener_.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
  dialer = dial();
  EXPECT_EQ(dialer->attempt(), nullptr);
  dialer.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
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

}  // namespace
}  // namespace pydoca::sim

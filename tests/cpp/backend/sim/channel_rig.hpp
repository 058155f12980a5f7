#pragma once

#include "backend/sim/comch/channel.hpp"
#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/message/frame.hpp"
#include "backend/sim/message/hello.hpp"
#include "rig/bytes.hpp"
#include "rig/process/process_rig.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <poll.h>
#include <string>

namespace pydoca::sim {

using backend::ChannelOptions;

inline constexpr std::string_view channel_function = "0000:0b:00.0";
inline constexpr ChannelOptions channel_options{.max_msg_size = 4080, .recv_queue_size = 64};

inline bool readable(int fd, int timeout_ms = 0) {
  pollfd event{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&event, 1, timeout_ms) > 0;
}

/// Waits for the end of the opening exchange, which must come.
inline Status establish(backend::Channel& channel) {
  Status status = Status::again;
  for (int i = 0; i < 100 && (status = channel.establish()) == Status::again; ++i) {
    readable(channel.fd(), 1000);
  }
  return status;
}

inline Status receive(backend::Channel& channel, Bytes& message) {
  message.assign(4080, std::byte{});
  std::size_t length = 0;
  const Status status = channel.receive(message, length);
  message.resize(length);
  return status;
}

class Channel : public FabricTest {
 protected:
  std::unique_ptr<backend::Listener> listen(std::string_view service = "copy") {
    return sim::listen(fabric_, channel_function, service, channel_options);
  }
  std::unique_ptr<backend::Dialer> dial(std::string_view service = "copy") {
    return sim::dial(fabric_, channel_function, service, channel_options);
  }
  void connect(const ChannelOptions& of_client = channel_options) {
    listener_ = listen();
    client_ = sim::dial(fabric_, channel_function, "copy", of_client)->attempt();
    ASSERT_NE(client_, nullptr);
    server_ = listener_->accept(true);
    ASSERT_NE(server_, nullptr);
    ASSERT_EQ(establish(*server_), Status::success);
    ASSERT_EQ(establish(*client_), Status::success);
  }
  /// A peer that does not follow the rules, already connected.
  detail::Fd hostile() {
    Status status{};
    const ChannelIdentity identity = channel_identity(fabric_, channel_function, "copy", channel_options);
    return connect_to(fabric_address(fabric_, channel_purpose, channel_key(identity)), status);
  }
  /// The same after a correct hello.
  detail::Fd hostile_client() {
    detail::Fd fd = hostile();
    HelloFrame frame;
    EXPECT_EQ(send_frame(fd.get(), FrameType::hello,
                         encode(Hello{channel_options, fabric_, channel_function, "copy"}, frame)),
              Status::success);
    server_ = listener_->accept(true);
    EXPECT_EQ(establish(*server_), Status::success);
    return fd;
  }

  std::unique_ptr<backend::Listener> listener_;
  std::unique_ptr<backend::Channel> client_;
  std::unique_ptr<backend::Channel> server_;
};

}  // namespace pydoca::sim

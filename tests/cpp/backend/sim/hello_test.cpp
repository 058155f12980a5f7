#include "backend/sim/message/hello.hpp"

#include "backend/sim/channel_rig.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace pydoca::sim {
namespace {

TEST(Hello, SurvivesEncoding) {
  HelloFrame frame;
  Hello hello;
  ASSERT_EQ(decode(encode(Hello{channel_options, "lab", channel_function, "copy"}, frame), hello), Status::success);
  EXPECT_EQ(hello.fabric, "lab");
  EXPECT_EQ(hello.pci_addr, channel_function);
  EXPECT_EQ(hello.service, "copy");
  EXPECT_EQ(hello.options.max_msg_size, 4080U);
  EXPECT_EQ(hello.options.recv_queue_size, 64U);
}

TEST(Hello, LongTextsAreCut) {
  HelloFrame frame;
  const std::string text(1000, 'x');
  Answer answer;
  ASSERT_EQ(decode(encode(Answer{Status::full, channel_options, text}, frame), answer), Status::success);
  EXPECT_EQ(answer.reason.size(), max_hello_text);
}

TEST(Hello, EveryTruncationAndExtensionIsRefused) {
  HelloFrame frame;
  const auto bytes = encode(Hello{channel_options, "lab", channel_function, "copy"}, frame);
  Hello hello;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));  // its own block, for ASan
    EXPECT_NE(decode(part, hello), Status::success) << length;
  }
  EXPECT_EQ(decode(std::span(frame).first(bytes.size() + 1), hello), Status::invalid_value);
}

TEST(Hello, NoFlippedBitIsTakenForTheSame) {
  HelloFrame frame;
  const auto encoded = encode(Hello{channel_options, "lab", channel_function, "copy"}, frame);
  for (std::size_t bit = 0; bit < encoded.size() * 8; ++bit) {
    Bytes bytes(encoded.begin(), encoded.end());
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    Hello hello;
    const bool same = decode(bytes, hello) == Status::success && hello.fabric == "lab" &&
                      hello.pci_addr == channel_function && hello.service == "copy" &&
                      hello.options.max_msg_size == channel_options.max_msg_size &&
                      hello.options.recv_queue_size == channel_options.recv_queue_size;
    EXPECT_FALSE(same) << bit;
  }
}

}  // namespace
}  // namespace pydoca::sim

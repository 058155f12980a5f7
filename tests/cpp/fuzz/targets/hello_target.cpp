#include "backend/sim/message/hello.hpp"
#include "fuzz/targets/sim_targets.hpp"

#include <algorithm>

namespace pydoca::fuzz {

namespace {

/// A message that is taken is the one that its content makes.
template <class Message>
void check_opening(std::span<const std::byte> input) {
  Message message;
  if (decode(input, message) != Status::success) {
    return;
  }
  sim::HelloFrame frame;
  const auto again = encode(message, frame);
  Message same;
  require(decode(again, same) == Status::success, "what was encoded can be decoded");
  require(again.size() == input.size(), "an opening message that is taken has no byte that is not read");
}

}  // namespace

void run_hello(std::span<const std::byte> input) {
  const Bytes bytes(input.begin(), input.end());  // a block of its own, so that a sanitizer sees a read beyond it
  check_opening<sim::Hello>(bytes);
  check_opening<sim::Answer>(bytes);
}

std::vector<Bytes> hello_seeds() {
  sim::HelloFrame frame;
  const backend::ChannelOptions options{.max_msg_size = 4080, .recv_queue_size = 64};
  const auto hello = encode(sim::Hello{options, "default", "0000:0b:00.0", "copy"}, frame);
  std::vector<Bytes> seeds{{hello.begin(), hello.end()}};
  const auto answer = encode(sim::Answer{Status::full, options, "too many clients"}, frame);
  seeds.emplace_back(answer.begin(), answer.end());
  return seeds;
}

}  // namespace pydoca::fuzz

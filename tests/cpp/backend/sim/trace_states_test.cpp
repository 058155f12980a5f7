/// Every state of a tracer's connection × every message: the traced process answers a first good request, and ends the
/// connection at anything else. It records only while such a connection lasts.

#include "pydoca/trace.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "backend/sim/fabric/service.hpp"
#include "backend/sim/message/fd_message.hpp"
#include "backend/sim/trace/member.hpp"
#include "backend/sim/trace/members.hpp"
#include "backend/sim/trace/trace_protocol.hpp"
#include "rig/cell_name.hpp"
#include "rig/process/process_rig.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <poll.h>
#include <span>
#include <sys/socket.h>
#include <tuple>

namespace pydoca::sim::trace_states {
namespace {

enum class At : std::uint8_t { fresh, recording };
constexpr std::array names_of_states{"Fresh", "Recording"};

enum class Sent : std::uint8_t {
  request,
  wrong_protocol,
  no_capacity,
  odd_capacity,
  huge_capacity,
  with_descriptor,
  short_request,
  long_request,
  nothing,
  end,
};
constexpr std::array all_sent{
    Sent::request,         Sent::wrong_protocol, Sent::no_capacity,  Sent::odd_capacity, Sent::huge_capacity,
    Sent::with_descriptor, Sent::short_request,  Sent::long_request, Sent::nothing,      Sent::end};
constexpr std::array names_of_sent{"Request",        "WrongProtocol", "NoCapacity",  "OddCapacity", "HugeCapacity",
                                   "WithDescriptor", "ShortRequest",  "LongRequest", "Nothing",     "End"};

constexpr std::uint32_t capacity = 1024;

class TraceStates : public FabricTest, public testing::WithParamInterface<std::tuple<At, Sent>> {
 protected:
  void connect() {
    const auto members = addresses_of(fabric_, member_purpose);
    ASSERT_EQ(members.size(), 1U);
    Status status = Status::success;
    tracer_ = connect_to(members[0], status);
    ASSERT_EQ(status, Status::success);
  }
  void send(const TraceRequest& request, std::size_t length = sizeof(TraceRequest),
            std::span<const int> fds = {}) const {
    std::array<std::byte, sizeof request + 1> bytes{};
    std::ranges::copy(std::as_bytes(std::span(&request, 1)), bytes.begin());
    ASSERT_EQ(send_message(tracer_.get(), std::span(bytes).first(length), fds), Status::success);
  }
  void send(Sent what) const {
    const std::array one_descriptor{tracer_.get()};
    switch (what) {
      case Sent::wrong_protocol:
        return send({.protocol = trace_protocol + 1, .capacity = capacity});
      case Sent::no_capacity:
        return send({.capacity = 0});
      case Sent::odd_capacity:
        return send({.capacity = capacity + 1});
      case Sent::huge_capacity:
        return send({.capacity = 1U << 31U});
      case Sent::with_descriptor:
        return send({.capacity = capacity}, sizeof(TraceRequest), one_descriptor);
      case Sent::short_request:
        return send({.capacity = capacity}, sizeof(TraceRequest) - 1);
      case Sent::long_request:
        return send({.capacity = capacity}, sizeof(TraceRequest) + 1);
      case Sent::nothing:
        return send({.capacity = capacity}, 0);
      case Sent::end:
        ::shutdown(tracer_.get(), SHUT_WR);
        return;
      default:
        return send({.capacity = capacity});
    }
  }

  /// Whether a file came, before the connection ended or without its end.
  bool receives_file() const {
    pollfd incoming{.fd = tracer_.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&incoming, 1, 10'000), 1);
    TraceReply reply;
    ReceivedFds files;
    return receive_message(tracer_.get(), std::as_writable_bytes(std::span(&reply, 1)), files) == Status::success &&
           reply.status == Status::success && files.count == 1;
  }

  const std::shared_ptr<Member> member_ = Member::of(fabric_);
  detail::Fd tracer_;
};

TEST_P(TraceStates, AnswerOrEnd) {
  const auto [state, what] = GetParam();
  ASSERT_NO_FATAL_FAILURE(connect());
  if (state == At::recording) {
    ASSERT_NO_FATAL_FAILURE(send(Sent::request));
    ASSERT_TRUE(receives_file());
    EXPECT_TRUE(trace::is_on());
  }
  ASSERT_NO_FATAL_FAILURE(send(what));
  const bool answers = state == At::fresh && what == Sent::request;
  EXPECT_EQ(receives_file(), answers);
  EXPECT_EQ(trace::is_on(), answers);
  tracer_.reset();
  Service::settle();
  EXPECT_FALSE(trace::is_on()) << "a tracer that has gone leaves nothing";
}

INSTANTIATE_TEST_SUITE_P(All, TraceStates,
                         testing::Combine(testing::Values(At::fresh, At::recording), testing::ValuesIn(all_sent)),
                         [](const auto& test) { return cell_name(test, names_of_states, names_of_sent); });

}  // namespace
}  // namespace pydoca::sim::trace_states

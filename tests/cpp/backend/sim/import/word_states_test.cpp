/// Every state of an importer's questions × every message of the owner: the oldest question ends, or the connection
/// does, and with it every question.

#include "backend/sim/fabric/notified.hpp"
#include "backend/sim/fabric/service.hpp"
#include "backend/sim/import/word_channel.hpp"
#include "backend/sim/memory/import_protocol.hpp"
#include "backend/sim/message/fd_message.hpp"
#include "rig/cell_name.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <memory>
#include <poll.h>
#include <span>
#include <sys/socket.h>
#include <tuple>
#include <vector>

namespace pydoca::sim::word_states {
namespace {

enum class At : std::uint8_t { idle, asked, asked_twice, forgotten, answered };
constexpr std::array all_states{At::idle, At::asked, At::asked_twice, At::forgotten, At::answered};
constexpr std::array names_of_states{"Idle", "Asked", "AskedTwice", "Forgotten", "Answered"};

enum class Sent : std::uint8_t {
  word,
  refusal,
  status_without_sense,
  wrong_protocol,
  with_descriptor,
  short_reply,
  long_reply,
  nothing,
  end,
};
constexpr std::array all_sent{Sent::word,           Sent::refusal,         Sent::status_without_sense,
                              Sent::wrong_protocol, Sent::with_descriptor, Sent::short_reply,
                              Sent::long_reply,     Sent::nothing,         Sent::end};
constexpr std::array names_of_sent{"Word",          "Refusal",        "StatusWithoutSense",
                                   "WrongProtocol", "WithDescriptor", "ShortReply",
                                   "LongReply",     "Nothing",        "End"};

struct Asker final : Notified {
  void notify(std::uint32_t number) noexcept override { notified.push_back(number); }
  std::vector<std::uint32_t> notified;
};

class WordStates : public testing::TestWithParam<std::tuple<At, Sent>> {
 protected:
  WordStates() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    owner_ = detail::Fd(ends[0]);
    channel_ = std::make_unique<WordChannel>(detail::Fd(ends[1]));
  }

  WordChannel::Ticket ask() { return channel_->ask({}, asker_, ++asked_); }
  void bring_to(At state) {
    if (state == At::idle) {
      return;
    }
    first_ = ask();
    if (state == At::asked_twice) {
      second_ = ask();
    } else if (state == At::forgotten) {
      channel_->forget(first_);
    } else if (state == At::answered) {
      send(Sent::word);
    }
  }

  /// Returns when the importer's service has dealt with it.
  void send(Sent what) {
    const std::array one_descriptor{owner_.get()};
    WordReply reply{.before = 42};
    std::size_t length = sizeof reply;
    std::span<const int> fds;
    switch (what) {
      case Sent::refusal:
        reply.status = Status::io_failed;
        break;
      case Sent::status_without_sense:
        reply.status = static_cast<Status>(4711);
        break;
      case Sent::wrong_protocol:
        ++reply.protocol;
        break;
      case Sent::with_descriptor:
        fds = one_descriptor;
        break;
      case Sent::short_reply:
        --length;
        break;
      case Sent::long_reply:
        ++length;
        break;
      case Sent::nothing:
        length = 0;
        break;
      default:
        break;
    }
    if (what == Sent::end) {
      ::shutdown(owner_.get(), SHUT_WR);
    } else {
      std::array<std::byte, sizeof reply + 1> bytes{};
      std::memcpy(bytes.data(), &reply, sizeof reply);
      ASSERT_EQ(send_message(owner_.get(), std::span(bytes).first(length), fds), Status::success);
    }
    Service::settle();
  }
  /// Whether the importer has closed its end.
  bool has_ended() const {
    pollfd end{.fd = owner_.get(), .events = POLLRDHUP, .revents = 0};
    return ::poll(&end, 1, 0) == 1;
  }

  const std::shared_ptr<Asker> asker_ = std::make_shared<Asker>();
  detail::Fd owner_;
  std::unique_ptr<WordChannel> channel_;
  std::uint32_t asked_ = 0;
  WordChannel::Ticket first_ = 0;
  WordChannel::Ticket second_ = 0;
};

TEST_P(WordStates, EndTheOldestQuestionOrAll) {
  const auto [state, what] = GetParam();
  ASSERT_NO_FATAL_FAILURE(bring_to(state));
  ASSERT_NO_FATAL_FAILURE(send(what));
  const bool is_reply = what == Sent::word || what == Sent::refusal || what == Sent::status_without_sense;
  const bool lives = is_reply && state != At::idle && state != At::answered;
  EXPECT_EQ(has_ended(), !lives);

  std::uint64_t before = 0;
  if (state == At::asked || state == At::asked_twice) {
    EXPECT_EQ(channel_->answer(first_, before), lives && what == Sent::word ? Status::success : Status::io_failed);
    EXPECT_EQ(before, lives ? 42U : 0U);
  }
  if (state == At::asked_twice) {
    EXPECT_EQ(channel_->answer(second_, before), lives ? Status::again : Status::io_failed);
  }
  if (state == At::answered) {
    EXPECT_EQ(channel_->answer(first_, before), Status::success) << "it came before";
  }
  EXPECT_EQ(ask() != 0, lives);
  const std::size_t told = state == At::idle || state == At::forgotten ? 0 : state == At::asked_twice && !lives ? 2 : 1;
  EXPECT_EQ(asker_->notified.size(), told);
}

INSTANTIATE_TEST_SUITE_P(All, WordStates, testing::Combine(testing::ValuesIn(all_states), testing::ValuesIn(all_sent)),
                         [](const auto& test) { return cell_name(test, names_of_states, names_of_sent); });

}  // namespace
}  // namespace pydoca::sim::word_states

#include "pydoca/words.hpp"

#include "rig/expect_error.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pydoca {
namespace {

std::vector<std::string_view> keys() { return {"action", "opcode", "probability", "times"}; }

std::string refusal(std::string_view word) {
  return reason_of([&] { refuse_word("rule: key", word, keys()); });
}

TEST(WordsTest, ARefusalHasTheNearestWord) {
  EXPECT_EQ(refusal("probabilty"), "rule: key 'probabilty' does not exist; did you mean 'probability'?");
  EXPECT_EQ(refusal("opcodes"), "rule: key 'opcodes' does not exist; did you mean 'opcode'?");
  EXPECT_EQ(refusal("kind"), "rule: key 'kind' does not exist; did you mean 'opcode'?");
  EXPECT_EQ(refusal("x"), "rule: key 'x' does not exist; use one of: action, opcode, probability, times");
  EXPECT_EQ(reason_of([] { refuse_word("event", "wait", {"wait_gt", "set"}); }),
            "event 'wait' does not exist; DOCA up to 2.6 has that name; write 'wait_gt'");
}

TEST(WordsTest, TheNearestWordHasThreeFifthsInCommon) {
  EXPECT_EQ(nearest_to("tiems", keys()), "times");
  EXPECT_EQ(nearest_to("tim", keys()), "times");
  EXPECT_EQ(nearest_to("ti", keys()), "");
  EXPECT_EQ(nearest_to("", keys()), "");
  EXPECT_EQ(nearest_to(std::string(100'000, 'a'), keys()), "");
  EXPECT_EQ(nearest_to("times", {}), "");
}

}  // namespace
}  // namespace pydoca

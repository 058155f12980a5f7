// The n-th operator new of a program fails, for every n: the call that needed it ends with no_memory, nothing leaks,
// and the program then runs.
#include "failure/sweep.hpp"

#include <gtest/gtest.h>

#include <random>

namespace pydoca::failure {
namespace {

class FailedAllocation : public testing::TestWithParam<Scenario> {
 protected:
  static void expect_none(const Sweep& sweep) {
    const Result result = run(sweep);
    EXPECT_TRUE(result.failures.empty()) << result.failures;
  }
  /// One n in stride, unless the whole sweep is asked for.
  static void expect_none_of_some(bool persistent, bool cold, std::uint64_t stride) {
    stride = is_whole_sweep() ? 1 : stride;
    const std::uint64_t first = 1 + std::random_device()() % stride;
    SCOPED_TRACE(testing::Message() << "first n: " << first << ", stride: " << stride);
    expect_none({.scenario = GetParam(),
                 .plans = {{.kind = Plan::Kind::allocation, .persistent = persistent}},
                 .cold = cold,
                 .first = first,
                 .stride = stride});
  }
};

TEST_P(FailedAllocation, EndsWithNoMemory) {
  expect_none({.scenario = GetParam(), .plans = {{.kind = Plan::Kind::allocation}}});
}

TEST_P(FailedAllocation, AndAllThatFollow) { expect_none_of_some(true, false, 5); }

TEST_P(FailedAllocation, AtFirstUse) { expect_none_of_some(false, true, 11); }

TEST_P(FailedAllocation, AndAllThatFollowAtFirstUse) { expect_none_of_some(true, true, 11); }

INSTANTIATE_TEST_SUITE_P(Scenarios, FailedAllocation, testing::ValuesIn(scenarios().begin(), scenarios().end()),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace pydoca::failure

#include "backend/sim/time/pace.hpp"

#include "backend/sim/time/function_model.hpp"
#include "backend/sim/time/timed_operation.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>
#include <vector>

namespace pydoca::sim {
namespace {

constexpr double ticks_at(double bytes_per_second) {
  return 1e9 * static_cast<double>(ticks_per_ns) / bytes_per_second;
}

/// A queue of an engine, at moments that the test chooses.
struct Clocked {
  explicit Clocked(const Pace& model, bool linked = false) : pace(model), has_link(linked) {}

  Pace pace;
  Server engine;
  Link link;
  bool has_link;
  Random random{1};

  std::uint64_t due(std::uint64_t now, std::uint64_t bytes, const Crossing& crossing = {}) {
    return moments_of(pace, engine, has_link ? &link : nullptr, now, bytes, crossing, random).due;
  }
};

TEST(PaceTest, AnOperationTakesItsLatencyAndTheTimeOfItsBytes) {
  Clocked queue({.latency_ns = 1900, .ticks_per_byte = ticks_at(25e9)});
  EXPECT_EQ(queue.due(10'000, 50'000), 10'000 + 2000 + 1900);
  EXPECT_EQ(queue.due(1'000'000, 0), 1'000'000 + 1900);
}

TEST(PaceTest, AStreamReachesTheBandwidthAndHidesTheLatency) {
  Clocked queue({.latency_ns = 1900, .ticks_per_byte = ticks_at(25e9)});
  std::uint64_t last = 0;
  for (int i = 0; i < 1000; ++i) {
    last = queue.due(500, 25'000);
  }
  EXPECT_EQ(last, 500 + 1'000'000 + 1900);
}

TEST(PaceTest, AnEngineIsIdleOnceItHasServedAll) {
  Clocked queue({.ticks_per_byte = ticks_at(1e9)});
  EXPECT_EQ(queue.due(0, 100), 100U);
  EXPECT_EQ(queue.due(50, 100), 200U);
  EXPECT_EQ(queue.due(500, 100), 600U);
}

TEST(PaceTest, FractionsOfANanosecondAddUp) {
  Clocked queue({.ticks_per_byte = ticks_at(25e9)});
  std::uint64_t last = 0;
  for (int i = 0; i < 100'000; ++i) {
    last = queue.due(0, 64);
  }
  EXPECT_NEAR(static_cast<double>(last), 256'000, 500);  // 2.56 ns each, within 0.2 %
}

TEST(PaceTest, ARateLimitsSmallOperationsOnly) {
  Clocked queue({.ticks_per_byte = ticks_at(1e9), .ticks_per_operation = ticks_at(10e6)});
  EXPECT_EQ(queue.due(0, 1), 100U);
  EXPECT_EQ(queue.due(0, 1), 200U);
  EXPECT_EQ(queue.due(0, 1000), 1200U);
}

TEST(PaceTest, QueuesOfOneEngineWaitForOneAnother) {
  Server engine;
  const Pace pace{.ticks_per_byte = ticks_at(1e9)};
  Random one(1);
  Random other(2);
  EXPECT_EQ(moments_of(pace, engine, nullptr, 0, 300, {}, one).due, 300U);
  EXPECT_EQ(moments_of(pace, engine, nullptr, 0, 300, {}, other).due, 600U);
}

TEST(PaceTest, TheDirectionsOfALinkAreShared) {
  Clocked queue({.latency_ns = 10}, true);
  queue.link.ticks_per_byte = ticks_at(1e9);
  EXPECT_EQ(queue.due(0, 100, {.to_card = 100}), 110U);
  EXPECT_EQ(queue.due(0, 100, {.to_card = 100}), 210U);
  EXPECT_EQ(queue.due(0, 100, {.to_host = 100}), 110U);
  EXPECT_EQ(queue.due(0, 100, {.to_card = 100, .to_host = 100}), 310U);
  EXPECT_EQ(queue.due(0, 100), 10U);
}

TEST(PaceTest, TheSlowerOfEngineAndLinkDecides) {
  Clocked queue({.ticks_per_byte = ticks_at(2e9)}, true);
  queue.link.ticks_per_byte = ticks_at(1e9);
  EXPECT_EQ(queue.due(0, 1000, {.to_card = 1000}), 1000U);
  EXPECT_EQ(queue.due(0, 1000), 1000U);  // the engine was busy for 500 ns
}

std::vector<std::uint64_t> jittered(JitterDistribution distribution, std::uint64_t seed, int count = 20'000) {
  Clocked queue(
      {.latency_ns = 1000, .jitter = {.distribution = distribution, .spread = std::chrono::nanoseconds(100)}});
  queue.random = Random(seed);
  std::vector<std::uint64_t> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(queue.due(0, 0));
  }
  return all;
}

double mean(const std::vector<std::uint64_t>& values) {
  double sum = 0;
  for (const std::uint64_t value : values) {
    sum += static_cast<double>(value);
  }
  return sum / static_cast<double>(values.size());
}

TEST(PaceTest, JitterHasItsDistribution) {
  EXPECT_EQ(mean(jittered(JitterDistribution::none, 7)), 1000);
  EXPECT_NEAR(mean(jittered(JitterDistribution::uniform, 7)), 1050, 2);
  EXPECT_NEAR(mean(jittered(JitterDistribution::normal, 7)), 1000, 4);
  EXPECT_NEAR(mean(jittered(JitterDistribution::exponential, 7)), 1100, 4);
  std::vector<std::uint64_t> lognormal = jittered(JitterDistribution::lognormal, 7);
  std::ranges::sort(lognormal);
  EXPECT_NEAR(static_cast<double>(lognormal[lognormal.size() / 2]), 1100, 4);
  EXPECT_GE(lognormal.front(), 1000U);
}

TEST(PaceTest, ASeedRepeatsItsJitterAndAnotherDoesNot) {
  EXPECT_EQ(jittered(JitterDistribution::normal, 7, 100), jittered(JitterDistribution::normal, 7, 100));
  EXPECT_NE(jittered(JitterDistribution::normal, 7, 100), jittered(JitterDistribution::normal, 8, 100));
}

TEST(PaceTest, JitterTakesNoOperationBackBeforeItsService) {
  Clocked queue({.latency_ns = 1,
                 .ticks_per_byte = ticks_at(1e9),
                 .jitter = {.distribution = JitterDistribution::normal, .spread = std::chrono::seconds(1)}});
  for (std::uint64_t i = 1; i <= 100; ++i) {
    EXPECT_GE(queue.due(0, 10), i * 10);
  }
}

TimedOperation number_of(const char* name) { return find_timed_operation(name).value(); }

TEST(FunctionModelTest, EachQueueHasASequenceOfItsOwnThatTheSeedRepeats) {
  const auto seeds = [](std::uint64_t seed, const char* name) {
    FunctionModel model({}, seed, name, nullptr);
    return std::vector{model.next_seed(number_of("dma")), model.next_seed(number_of("dma")),
                       model.next_seed(number_of("sha"))};
  };
  const auto first = seeds(1, "p0");
  EXPECT_EQ(first, seeds(1, "p0"));
  EXPECT_NE(first, seeds(2, "p0"));
  EXPECT_NE(first, seeds(1, "p1"));
  EXPECT_NE(first[0], first[1]);
  EXPECT_NE(first[1], first[2]);
}

TEST(FunctionModelTest, NoTwoOperationsHaveOneSequence) {
  std::set<std::uint64_t> sequences;
  for (const std::string_view name : timed_operations()) {
    sequences.insert(sequence_of(find_timed_operation(name).value()));
  }
  EXPECT_EQ(sequences.size(), timed_operations().size());
}

TEST(FunctionModelTest, TheOperationsOfRdmaShareOneEngine) {
  FunctionModel model({}, 0, "p0", nullptr);
  EXPECT_EQ(&model.engine(TimedOperation::rdma_write), &model.engine(TimedOperation::rdma_atomic));
  EXPECT_NE(&model.engine(number_of("dma")), &model.engine(number_of("sha")));
  EXPECT_NE(&model.engine(number_of("cache")), &model.engine(TimedOperation::rdma_read));
}

}  // namespace
}  // namespace pydoca::sim

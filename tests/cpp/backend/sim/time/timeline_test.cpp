#include "backend/sim/time/timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

namespace pydoca::sim {
namespace {

/// What a timeline says of operations with these moments, which are posted at 0: their numbers, as they are due.
std::vector<std::size_t> order_of(const std::vector<Moments>& moments, std::uint32_t window, std::uint64_t seed = 1) {
  std::vector<backend::Operation> operations(moments.size());
  Timeline timeline(static_cast<std::uint32_t>(moments.size()), window);
  Random random(seed);
  for (std::size_t i = 0; i < moments.size(); ++i) {
    timeline.add(operations[i], 0, moments[i], random);
  }
  std::vector<std::size_t> order;
  for (; !timeline.empty(); timeline.pop()) {
    order.push_back(static_cast<std::size_t>(&timeline.first() - operations.data()));
  }
  return order;
}

std::vector<Moments> stream(std::size_t count) {
  std::vector<Moments> moments;
  for (std::uint64_t i = 1; i <= count; ++i) {
    moments.push_back({.earliest = 10, .due = 10 * i});
  }
  return moments;
}

TEST(TimelineTest, AnOperationThatIsDueBeforeAnEarlierOneWaitsForIt) {
  backend::Operation one;
  backend::Operation other;
  Timeline timeline(2, 1);
  Random random(1);
  timeline.add(one, 0, {.due = 500}, random);
  timeline.add(other, 0, {.due = 100}, random);
  EXPECT_EQ(&timeline.first(), &one);
  EXPECT_EQ(timeline.first_due(), 500U);
  timeline.pop();
  EXPECT_EQ(&timeline.first(), &other);
  EXPECT_EQ(timeline.first_due(), 500U);
}

TEST(TimelineTest, AnOperationIsDueAndDone) {
  backend::Operation operation;
  Timeline timeline(1, 1);
  Random random(1);
  for (int round = 0; round < 3; ++round) {
    timeline.add(operation, 0, {.due = 5}, random);
    EXPECT_FALSE(timeline.is_first_done());
    timeline.set_done(operation);
    EXPECT_TRUE(timeline.is_first_done());
    timeline.pop();
    EXPECT_TRUE(timeline.empty());
  }
}

TEST(TimelineTest, InAWindowOperationsComeBackAsTheyAreDue) {
  const std::vector<Moments> moments{{100, 100}, {100, 90}, {100, 80}, {100, 70}};
  EXPECT_EQ(order_of(moments, 1), (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(order_of(moments, 4), (std::vector<std::size_t>{3, 2, 1, 0}));
  // The third and the fourth have left the first behind by more than a window.
  EXPECT_EQ(order_of(moments, 2).front(), 1U);
}

TEST(TimelineTest, AWindowReordersAStreamByItsSeedOnly) {
  const std::vector<std::size_t> order = order_of(stream(200), 8);
  EXPECT_FALSE(std::ranges::is_sorted(order));
  EXPECT_EQ(order, order_of(stream(200), 8));
  EXPECT_NE(order, order_of(stream(200), 8, 2));
}

TEST(TimelineTest, NoOperationPassesOneThatCameAWindowEarlier) {
  constexpr std::uint32_t window = 5;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::vector<std::size_t> order = order_of(stream(100), window, seed);
    std::size_t latest = 0;
    for (const std::size_t number : order) {
      EXPECT_LT(latest, number + window) << "seed " << seed;
      latest = std::max(latest, number);
    }
  }
}

TEST(TimelineTest, AnOperationIsNotDueBeforeItsOwnBytesAreThere) {
  std::vector<Moments> moments = stream(50);
  for (Moments& own : moments) {
    own.earliest = own.due;  // large ones
  }
  EXPECT_TRUE(std::ranges::is_sorted(order_of(moments, 8)));
}

TEST(TimelineTest, WhatIsDueAlreadyKeepsItsPlace) {
  std::array<backend::Operation, 2> operations;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Timeline timeline(2, 2);
    Random random(seed);
    timeline.add(operations[0], 0, {.earliest = 0, .due = 10}, random);
    timeline.add(operations[1], 10, {.earliest = 0, .due = 20}, random);
    EXPECT_EQ(&timeline.first(), operations.data());
  }
}

TEST(TimelineTest, AFailureTakesTheFirstPlace) {
  std::array<backend::Operation, 3> operations;
  Timeline timeline(3, 1);
  Random random(1);
  for (std::uint64_t i = 0; i < 3; ++i) {
    timeline.add(operations[i], 0, {.due = i}, random);
  }
  timeline.set_done(operations[2]);
  timeline.put_first(operations[2]);
  EXPECT_EQ(&timeline.first(), &operations[2]);
  EXPECT_TRUE(timeline.is_first_done());
  timeline.pop();
  EXPECT_EQ(&timeline.first(), &operations[1]);
  EXPECT_FALSE(timeline.is_first_done());
  timeline.set_done(operations[1]);
  EXPECT_TRUE(timeline.is_first_done());
}

}  // namespace
}  // namespace pydoca::sim

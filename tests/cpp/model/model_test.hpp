#pragma once

#include "model/explorer/explore.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>

namespace pydoca::model {

/// Explores all schedules of a model.
template <class Model>
void expect_holds() {
  const Result result = explore_all<Model>({});
  std::cout << "[   MODEL  ] " << result << "\n";
  EXPECT_TRUE(result.holds());
  EXPECT_TRUE(result.is_complete);
}

/// How long random schedules of one model take: some tenths of a second, or PYDOCA_STRESS_SECONDS.
inline std::chrono::milliseconds stress_time() {
  const char* const seconds = std::getenv("PYDOCA_STRESS_SECONDS");
  return std::chrono::milliseconds(seconds != nullptr ? std::strtol(seconds, nullptr, 10) * 1000 : 200);
}

/// Runs random schedules of a model that has too many to explore; each run has others.
template <class Model>
void expect_holds_at_random() {
  const auto seed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count());
  AtRandom search(seed);
  const Result result = explore<Model>(search, {}, Limits{.executions = ~std::uint64_t{0}, .time = stress_time()});
  std::cout << "[   MODEL  ] at random, seed " << seed << ": " << result << "\n";
  EXPECT_TRUE(result.holds());
}

/// With the mutation, a schedule fails.
template <class Model>
void expect_finds(const Mutation& mutation) {
  const Result result = explore_all<Model>(mutation);
  std::cout << "[  MUTANT  ] " << mutation.function << ": " << result.executions << " executions, then "
            << result.failure.substr(0, result.failure.find('\n')) << "\n";
  EXPECT_TRUE(result.was_mutated) << "no operation of " << mutation.function << " is like that";
  EXPECT_FALSE(result.holds()) << mutation.function << ": " << result;
}

}  // namespace pydoca::model

#pragma once

#include "model/explore.hpp"

#include <gtest/gtest.h>

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

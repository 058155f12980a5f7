#pragma once

#include "model/explorer/event.hpp"
#include "model/explorer/execution.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>

namespace pydoca::model {

/// What an exploration found.
struct Result {
  std::uint64_t executions = 0;
  std::uint64_t redundant = 0;  ///< those that repeat others
  std::size_t steps = 0;        ///< the steps of the longest execution
  bool is_complete = false;     ///< every schedule was explored
  bool was_mutated = false;
  std::string failure;

  bool holds() const noexcept { return failure.empty(); }
};

std::ostream& operator<<(std::ostream& out, const Result& result);

/// Fails the model unless a condition holds.
void require(bool holds, std::string_view what, std::source_location where = std::source_location::current());

struct Limits {
  std::uint64_t executions = 5'000'000;
  std::chrono::steady_clock::duration time = std::chrono::hours(1);
};

/// Runs executions of Model until one fails, the search has no other, or a limit is reached. Model is the state of one
/// execution: its constructor makes it, start() adds the threads with execution().add_thread(), check() comes after all
/// of them have ended. What several threads use is an atomic or Data; a failed model's state is not destroyed.
template <class Model, class... Arguments>
Result explore(Search& search, const Mutation& mutation, const Limits& limits, const Arguments&... arguments) {
  Result result;
  const auto end = std::chrono::steady_clock::now() + limits.time;
  execution().prepare(search, mutation);
  do {
    event_files().begin();
    execution().begin();
    auto model = std::make_unique<Model>(arguments...);
    model->start();
    if (execution().run()) {
      model->check();
    }
    ++result.executions;
    result.steps = std::max(result.steps, execution().steps());
    if (!execution().failure().empty()) {
      result.failure = execution().failure();
      static_cast<void>(model.release());
      break;
    }
    result.is_complete = !search.next();
  } while (!result.is_complete && result.executions < limits.executions && std::chrono::steady_clock::now() < end);
  result.was_mutated = execution().mutated() != 0;
  return result;
}

/// All schedules of a model.
template <class Model, class... Arguments>
Result explore_all(const Mutation& mutation, const Arguments&... arguments) {
  DepthFirst search;
  Result result = explore<Model>(search, mutation, Limits{}, arguments...);
  result.redundant = search.redundant();
  return result;
}

}  // namespace pydoca::model

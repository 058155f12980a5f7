#include "backend/sim/time/function_model.hpp"

#include <utility>

namespace pydoca::sim {

namespace {

/// More than there are sequences.
constexpr std::uint64_t seeds_of_a_number = 64;
static_assert(max_timed_operations <= seeds_of_a_number);

/// Ticks of what happens so many times a second.
double ticks_each(const std::optional<double>& per_second) noexcept {
  return per_second.has_value() ? 1e9 * static_cast<double>(ticks_per_ns) / *per_second : 0;
}

Pace pace_of(const OperationTiming& timing) noexcept {
  return {.latency_ns = static_cast<std::uint64_t>(timing.latency.value_or(std::chrono::nanoseconds(0)).count()),
          .ticks_per_byte = ticks_each(timing.bandwidth),
          .ticks_per_operation = ticks_each(timing.rate),
          .jitter = timing.jitter.value_or(Jitter{}),
          .queue_depth = timing.queue_depth.value_or(0),
          .reorder_window = timing.reorder_window.value_or(1),
          .executes_in_submit = timing.executes_in_submit.value_or(false)};
}

}  // namespace

FunctionModel::FunctionModel(const Timing& timing, std::uint64_t seed, std::string name, std::shared_ptr<Link> link)
    : seed_(seed), name_(std::move(name)), link_(std::move(link)) {
  for (const auto& [operation, own] : timing.operations) {
    paces_[static_cast<std::size_t>(*find_timed_operation(operation))] = pace_of(own);
  }
  // What crosses the link takes its time there, whether or not its engine has a model.
  for (std::size_t kind = 0; link_ != nullptr && kind < timed_operations().size(); ++kind) {
    const DataEngine* const engine = engine_of(static_cast<TimedOperation>(kind));
    if (!paces_[kind].has_value() && (engine == nullptr || engine->crosses_link)) {
      paces_[kind].emplace();
    }
  }
}

Server& FunctionModel::engine(TimedOperation operation) noexcept {
  constexpr std::array<std::size_t, num_timed_links> of_links{0, 0, 0, 0, 1, 2, 2};
  static_assert(of_links.back() + 1 == num_link_engines);
  const auto kind = static_cast<std::size_t>(operation);
  return engines_[kind < num_timed_links ? of_links[kind] : num_link_engines + kind - num_timed_links];
}

std::uint64_t FunctionModel::next_seed(TimedOperation operation) noexcept {
  const auto kind = static_cast<std::size_t>(operation);
  const std::uint64_t number = queues_[kind].fetch_add(1, std::memory_order_relaxed);
  return derive_seed(seed_, name_, number * seeds_of_a_number + sequence_of(operation));
}

}  // namespace pydoca::sim

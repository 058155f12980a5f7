#include "backend/sim/time/timed_operation.hpp"

#include "pydoca/sim_timing.hpp"

#include "detail/never_destroyed.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace pydoca::sim {

namespace {

constexpr std::array<std::string_view, num_timed_links> link_names{
    "rdma_write", "rdma_read", "rdma_send", "rdma_atomic", "comch_send", "sync_event_set", "sync_event_add"};

/// The engines of the first version had the numbers before.
constexpr std::uint64_t first_link_sequence = 3;

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names;
  for (const DataEngine* const engine : data_engines()) {
    names.push_back(engine->timing);
  }
  names.insert(names.end(), link_names.begin(), link_names.end());
  return names;
}

}  // namespace

std::span<const std::string_view> timed_operations() noexcept {
  static const detail::NeverDestroyed<std::vector<std::string_view>> names{all_names()};
  return names.value;
}

TimedOperation timed_operation_of(const DataEngine& engine) noexcept {
  const auto place = std::ranges::find(data_engines(), &engine) - data_engines().begin();
  return static_cast<TimedOperation>(num_timed_links + static_cast<std::size_t>(place));
}

const DataEngine* engine_of(TimedOperation operation) noexcept {
  return operation < TimedOperation::first_engine
             ? nullptr
             : data_engines()[static_cast<std::size_t>(operation) - num_timed_links];
}

std::optional<TimedOperation> find_timed_operation(std::string_view name) noexcept {
  if (const auto* const link = std::ranges::find(link_names, name); link != link_names.end()) {
    return static_cast<TimedOperation>(link - link_names.begin());
  }
  const auto engine = std::ranges::find(data_engines(), name, &DataEngine::timing);
  return engine != data_engines().end() ? std::optional(timed_operation_of(**engine)) : std::nullopt;
}

std::uint64_t sequence_of(TimedOperation operation) noexcept {
  const DataEngine* const engine = engine_of(operation);
  return engine != nullptr ? engine->sequence : first_link_sequence + static_cast<std::uint64_t>(operation);
}

}  // namespace pydoca::sim

#pragma once

#include "backend/sim/work/data_engine.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pydoca::sim {

/// What a model may be given for: what connections and sync events do, and then the card's engines, in the order of
/// data_engines().
enum class TimedOperation : std::uint8_t {
  rdma_write,
  rdma_read,
  rdma_send,
  rdma_atomic,
  comch_send,
  sync_event_set,
  sync_event_add,
  first_engine,
};
inline constexpr std::size_t num_timed_links = static_cast<std::size_t>(TimedOperation::first_engine);
inline constexpr std::size_t max_timed_operations = num_timed_links + max_data_engines;

/// The operation of an engine of data_engines().
TimedOperation timed_operation_of(const DataEngine& engine) noexcept;
/// Null for those that are not an engine's.
const DataEngine* engine_of(TimedOperation operation) noexcept;
/// Nothing when no operation has the name.
std::optional<TimedOperation> find_timed_operation(std::string_view name) noexcept;
/// The number of its random sequence. Two operations never share one, and none gets another when engines are added.
std::uint64_t sequence_of(TimedOperation operation) noexcept;

}  // namespace pydoca::sim

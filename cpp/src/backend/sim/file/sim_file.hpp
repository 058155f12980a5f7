#pragma once

#include "pydoca/sim.hpp"
#include "pydoca/value.hpp"

#include <optional>

namespace pydoca::sim {

/// What a topology file says: functions, and the timing where it has that table.
struct Description {
  Topology topology;
  std::optional<Config> timing;
};

/// Throws invalid_value for keys and values that do not fit.
Description read_topology(const Table& table);
/// Throws invalid_value also for what is not a table.
Config read_config(const Value& value);

}  // namespace pydoca::sim

#pragma once

#include "pydoca/sim.hpp"

#include "backend/sim/time/function_model.hpp"

#include <memory>

namespace pydoca::sim {

/// What set_config(), config() and timing_of() do once the environment is loaded. config: checked.
void replace_config(Config config);
Config present_config();
Timing present_timing_of(std::string_view device);

/// The model of a function by the configuration in force; null where nothing of it is modelled.
std::shared_ptr<FunctionModel> model_of(const Function& function);
/// Another number for each configuration, except for one without any model that follows such a one.
std::uint64_t config_number() noexcept;

}  // namespace pydoca::sim

#pragma once

#include "pydoca/sim.hpp"

#include "backend/sim/time/function_model.hpp"

#include <memory>

namespace pydoca::sim {

/// The model of a function by the configuration in force; null where nothing of it is modelled.
std::shared_ptr<FunctionModel> model_of(const Function& function);
/// Another number for each configuration, but for one without any model that follows such a one.
std::uint64_t config_number() noexcept;

}  // namespace pydoca::sim

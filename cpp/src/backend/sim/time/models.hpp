#pragma once

#include "pydoca/sim.hpp"

#include "backend/sim/time/function_model.hpp"

#include <memory>

namespace pydoca::sim {

/// The model of a function by the configuration in force; null where nothing of it is modelled.
std::shared_ptr<FunctionModel> model_of(const Function& function);

}  // namespace pydoca::sim

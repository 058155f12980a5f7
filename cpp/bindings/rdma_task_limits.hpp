#pragma once

#include "rdma_task_object.hpp"

#include <string>

namespace pydoca::bindings {

/// Which limit of a task of this kind the operands break, with the value; how large they are, when they break none.
std::string describe_violation(const Rdma& rdma, RdmaTaskKind kind, const RdmaOperands& operands);

}  // namespace pydoca::bindings

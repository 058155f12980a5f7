/// The methods of Rdma and RdmaConnection that make tasks.
#pragma once

#include "convert/pybind.hpp"

#include <span>

namespace pydoca::bindings {

/// The methods of Rdma.
std::span<PyMethodDef> receive_methods();
// The methods of RdmaConnection.
std::span<PyMethodDef> message_methods();
std::span<PyMethodDef> atomic_methods();

}  // namespace pydoca::bindings

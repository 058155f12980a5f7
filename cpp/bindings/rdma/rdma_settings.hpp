#pragma once

#include <pydoca/rdma.hpp>

#include "convert/pybind.hpp"

#include <string>

namespace pydoca::bindings {

/// Applies each setting that is not None to rdma. The settings are constructor keywords with DOCA's names.
void apply_settings(Rdma& rdma, const py::kwargs& given);

/// num_tasks: an int for each kind that the device has, or a dict by name.
void configure_tasks(Rdma& rdma, const py::object& num_tasks);

/// Throws invalid_value for an unknown name; the message has the nearest known name.
RdmaTaskKind to_rdma_task(const std::string& name);

/// A port: 1..65535.
std::uint16_t to_port(py::handle value);

}  // namespace pydoca::bindings

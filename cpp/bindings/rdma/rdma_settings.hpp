#pragma once

#include <pydoca/rdma.hpp>

#include "convert/pybind.hpp"

#include <string>
#include <string_view>

namespace pydoca::bindings {

/// Applies each setting that is not None to rdma. The settings are constructor keywords with DOCA's names.
void apply_settings(Rdma& rdma, const py::kwargs& given);
/// Applies one, by its name. Throws as the engine's setter does, TypeError for a value of another type.
void apply_setting(Rdma& rdma, std::string_view name, py::handle value);

/// num_tasks: an int for each kind that the device has, or a dict by name.
void configure_tasks(Rdma& rdma, const py::object& num_tasks);

/// Throws invalid_value for an unknown name; the message has the nearest known name.
RdmaTaskKind to_rdma_task(const std::string& name);

/// A port: 1..65535.
std::uint16_t to_port(py::handle value);

}  // namespace pydoca::bindings

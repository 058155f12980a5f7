#pragma once

#include <pydoca/rdma.hpp>

#include <pybind11/pybind11.h>

#include <string>

namespace pydoca::bindings {

/// Gives rdma each setting that is not None, by DOCA's name, among the keywords of its constructor.
void apply_settings(Rdma& rdma, const pybind11::kwargs& given);

/// num_tasks: an int, of each kind that the device has, or a dict of them by name.
void configure_tasks(Rdma& rdma, const pybind11::object& num_tasks);

/// These throw invalid_value for what is none, with the nearest name; a TypeError for what is no str, and no
/// enumerator.
RdmaTaskKind to_rdma_task(const std::string& name);
RdmaTransport to_transport(pybind11::handle value);
RdmaAddressType to_address_type(pybind11::handle value);

/// 1..65535.
std::uint16_t to_port(pybind11::handle value);

}  // namespace pydoca::bindings

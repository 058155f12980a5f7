#pragma once

#include "pydoca/device.hpp"

#include "core/violation.hpp"

#include <cstdint>
#include <string>

/// The limits that tasks of several libraries have.
namespace pydoca::detail::limits {

/// The operand was not given.
std::string missing(const Violation& violation, const DeviceInfo& device);
/// The operand is a later element of a list.
std::string not_first(const Violation& violation, const DeviceInfo& device);
/// The operand has no reference any more.
std::string given_back(const Violation& violation, const DeviceInfo& device);
/// value: the list's elements.
std::string list_length(const Violation& violation, const DeviceInfo& device);
/// The operand's memory map was not added to the context's device.
std::string not_on_device(const Violation& violation, const DeviceInfo& device);
/// The source is empty.
std::string no_data(const Violation& violation, const DeviceInfo& device);
/// value: the source's bytes.
std::string size(const Violation& violation, const DeviceInfo& device);
/// value: the source's bytes; allowed: the tailroom of the operand.
std::string room(const Violation& violation, const DeviceInfo& device);

/// "1 byte", "2 bytes".
std::string bytes(std::uint64_t count);

}  // namespace pydoca::detail::limits

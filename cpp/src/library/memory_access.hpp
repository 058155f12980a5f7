#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/device.hpp"
#include "pydoca/types.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace pydoca::detail {

/// How a device uses the memory of a task's operand.
enum class Use : std::uint8_t { reads, writes };

/// Why the device could not use the memory of list and of all that follow it, in one sentence; empty when nothing
/// speaks against it. needed: the flag that imported memory must have been exported with.
std::string explain_access(const char* operand, const Buf* list, const Device& device, Use use, Access needed);

/// The same of an operand on this side: an import over PCIe is as good as memory of this process, and a network peer's
/// memory is not.
std::string explain_local_access(const char* operand, const Buf* list, const Device& device, Use use);

/// "rdma_write" ...: the name of a single flag.
std::string_view name_of(Access flag) noexcept;

}  // namespace pydoca::detail

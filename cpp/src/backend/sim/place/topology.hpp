#pragma once

#include "pydoca/sim.hpp"

#include "backend/sim/place/removal.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::sim {

/// A function that is not removed: enumeration shows it, and a device can be opened on it.
struct PresentFunction {
  Function function;
  std::shared_ptr<Removal> removal;
};

/// In the topology's order.
std::vector<DeviceProperties> present_functions();
/// Throws not_found when no such function exists, or another one has the name by now.
PresentFunction find_present(const DeviceProperties& properties);
/// Whether the topology that it was found in was replaced, or the function was taken out and put back.
bool is_replaced(const PresentFunction& present) noexcept;

/// The representors of the functions whose parent is the DPU function called parent.
std::vector<RepresentorProperties> representors_of(std::string_view parent, RepFilter filter);
/// The host's function with this address (long form), or null.
std::optional<Function> host_function_at(std::string_view pci_addr);
/// The long PCI address of the function called name; empty when there is none.
std::string address_of(std::string_view name);

}  // namespace pydoca::sim

#pragma once

#include "pydoca/device_properties.hpp"
#include "pydoca/sim.hpp"

#include "backend/sim/place/removal.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::sim {

/// What set_topology(), topology(), remove_device() and restore_device() do once the environment is loaded.
void replace_topology(Topology topology);
const Topology& present_topology();
void take_out(std::string_view selector);
void put_back(std::string_view selector);

/// A function that is not removed: enumeration shows it, and a device can be opened on it.
struct PresentFunction {
  Function function;
  std::shared_ptr<Removal> removal;
};

/// The functions in the topology's order. What is shared keeps the whole topology.
std::vector<std::shared_ptr<const DeviceProperties>> present_functions();
/// Those of them whose long address, name, ibdev name or interface is word.
std::vector<std::shared_ptr<const DeviceProperties>> present_functions(std::string_view word);
/// Throws not_found when no such function exists, or another one has the name by now.
PresentFunction find_present(const DeviceProperties& properties);
/// Whether the topology that it was found in was replaced, or the function was taken out and put back.
bool is_replaced(const PresentFunction& present) noexcept;

/// The representors of the functions whose parent is the DPU function called parent; only those whose name or address
/// is word, unless word is empty.
std::vector<RepresentorProperties> representors_of(std::string_view parent, RepFilter filter,
                                                   std::string_view word = {});
/// The host's function with this address (long form), or null.
std::optional<Function> host_function_at(std::string_view pci_addr);
/// The long PCI address of the function called name; empty when there is none.
std::string address_of(std::string_view name);
/// How many functions the calls above have examined, in this process: for tests that count work.
std::uint64_t functions_looked_at();

}  // namespace pydoca::sim

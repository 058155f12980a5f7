#include "pydoca/device_properties.hpp"
#include "pydoca/status.hpp"

#include "backend/sim/place/topology.hpp"
#include "fuzz/targets/sim_targets.hpp"

#include <string>

namespace pydoca::fuzz {

namespace {

std::string text_of(Input& parts) {
  const auto bytes = parts.take(parts.number<std::uint8_t>() % 16);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

sim::Function function_of(Input& parts) {
  sim::Function function;
  DeviceProperties& properties = function.properties;
  properties.name = text_of(parts);
  properties.pci_addr = text_of(parts);
  properties.side = static_cast<Side>(parts.number<std::uint8_t>() % 2);
  properties.func_type = static_cast<PciFuncType>(parts.number<std::uint8_t>() % 3);
  const auto engines = parts.number<std::uint8_t>();
  if ((engines & 1) != 0) {
    properties.capabilities.dma = DmaCapabilities{parts.number<std::uint64_t>(), parts.number<std::uint8_t>(), 1};
  }
  if ((engines & 2) != 0) {
    properties.capabilities = sim::profile_capabilities("bluefield2", properties.side);
  }
  function.parent = text_of(parts);
  function.representor = text_of(parts);
  function.is_emulated = (engines & 4) != 0;
  return function;
}

void append_text(Bytes& bytes, std::string_view text) {
  bytes.push_back(static_cast<std::byte>(text.size()));
  const auto characters = std::as_bytes(std::span(text));
  bytes.insert(bytes.end(), characters.begin(), characters.end());
}

void append_function(Bytes& bytes, std::string_view name, std::string_view address, Side side,
                     std::string_view parent) {
  append_text(bytes, name);
  append_text(bytes, address);
  bytes.insert(bytes.end(), {static_cast<std::byte>(side), std::byte{0}, std::byte{2}});
  append_text(bytes, parent);
  append_text(bytes, parent.empty() ? "" : "rep");
}

/// What a topology that was accepted promises.
void check_topology() {
  for (const auto& properties : sim::present_functions()) {
    require(sim::find_present(*properties).function.properties.name == properties->name, "each function can be opened");
    require(parse_pci_addr(sim::address_of(properties->name)).has_value(), "each function has an address");
    require(!sim::present_functions(properties->name).empty(), "each function is found by its name");
    static_cast<void>(sim::representors_of(properties->name, RepFilter::all));
  }
}

}  // namespace

void run_topology(std::span<const std::byte> input) {
  sim::Topology topology;
  for (Input parts(input); !parts.is_empty() && topology.functions.size() < 8;) {
    topology.functions.push_back(function_of(parts));
  }
  try {
    sim::set_topology(std::move(topology));
    check_topology();
  } catch (const Error& error) {
    require(error.status() == Status::invalid_value, "a topology is refused with invalid_value");
  }
  sim::set_topology(sim::default_topology());
}

std::vector<Bytes> topology_seeds() {
  Bytes seed;
  append_function(seed, "p0", "03:00.0", Side::dpu, "");
  append_function(seed, "pf0", "0b:00.0", Side::host, "p0");
  return {seed};
}

}  // namespace pydoca::fuzz

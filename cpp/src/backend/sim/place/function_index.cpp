#include "backend/sim/place/function_index.hpp"

#include "pydoca/device_properties.hpp"

#include <array>

namespace pydoca::sim {

namespace {

/// Each word once, as the interface of a port may be called like the port.
void add_words(FunctionIndex::Words& words, const DeviceProperties& properties, Position position) {
  const std::array<std::string_view, 4> all{properties.name, properties.pci_addr, properties.ibdev_name,
                                            properties.iface_name};
  for (auto word = all.begin(); word != all.end(); ++word) {
    if (!word->empty() && std::find(all.begin(), word, *word) == word) {
      words.add(*word, position);
    }
  }
}

}  // namespace

FunctionIndex::FunctionIndex(const Topology& topology) {
  const std::size_t count = topology.functions.size();
  names.reserve(count);
  words.reserve(4 * count);
  addresses.reserve(count);
  for (Position position = 0; position < count; ++position) {
    const Function& function = topology.functions[position];
    const DeviceProperties& properties = function.properties;
    names.add(properties.name, position);
    add_words(words, properties, position);
    if (properties.func_type != PciFuncType::sf) {
      addresses.add(properties.pci_addr, position);
    }
    if (!function.representor.empty()) {
      representors.add({function.parent, function.representor}, position);
      for (const std::string_view key :
           {std::string_view(), std::string_view(function.representor), std::string_view(properties.pci_addr)}) {
        children.add({function.parent, key}, position);
      }
    }
  }
  names.sort();
  words.sort();
  addresses.sort();
  children.sort();
  representors.sort();
}

}  // namespace pydoca::sim

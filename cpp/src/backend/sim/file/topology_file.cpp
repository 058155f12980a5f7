#include "pydoca/device_properties.hpp"

#include "backend/sim/file/sim_file.hpp"
#include "backend/sim/place/profile.hpp"
#include "detail/concat.hpp"
#include "detail/table/read.hpp"

#include <algorithm>
#include <array>

namespace pydoca::sim {

namespace {

using detail::concat;
using detail::Words;

Words keys_of_functions() {
  Words keys;
  detail::add_names(keys, DeviceProperties::fields());
  detail::add_names(keys, Function::fields());
  return keys;
}

/// Adds what a function has that names none.
void add_defaults(DeviceProperties& properties, const Table& table, std::size_t index) {
  if (table.find("active_rate") == nullptr) {
    properties.active_rate = profile_rate(properties.profile);
  }
  if (table.find("vhca_id") == nullptr) {
    properties.vhca_id = static_cast<std::uint16_t>(index);
  }
  if (table.find("vuid") == nullptr) {
    properties.vuid = "SIM-" + properties.name;
  }
  if (!properties.lid.has_value() && table.find("mac_addr") == nullptr) {
    properties.mac_addr = {
        0x02, 0x50, 0x44, 0, static_cast<std::uint8_t>(index >> 8U), static_cast<std::uint8_t>(index)};
  }
}

/// profile is that of a function that names none.
Function read_function(const Table& table, std::size_t index, const std::string& profile) {
  const std::string number = concat("function ", index + 1);
  detail::require_known(table, number + ": key", keys_of_functions());
  for (const char* const required : {"name", "pci_addr", "side"}) {
    if (table.find(required) == nullptr) {
      throw Error(Status::invalid_value, concat(number, " needs a ", required));
    }
  }
  Function function;
  DeviceProperties& properties = function.properties;
  detail::read(*table.find("name"), properties.name, number + ": name");
  const std::string where = concat("function \"", properties.name, '"');
  properties.profile = profile;
  Table plain = table;  // its capabilities are read last: where they differ from the profile's
  std::erase_if(plain.entries, [](const auto& entry) { return entry.first == "capabilities"; });
  detail::read_fields(plain, properties, where, DeviceProperties::fields());
  detail::read_fields(plain, function, where, Function::fields());
  add_defaults(properties, table, index);
  properties.capabilities = function_capabilities(properties.profile, properties.side, properties.func_type);
  if (const Value* const capabilities = table.find("capabilities")) {
    detail::read(*capabilities, properties.capabilities, where + ": capabilities");
  }
  return function;
}

/// What the functions of one side have in common: the keys of a function except its names, addresses and numbers.
void read_common(const Table& card, const char* side, Function& function, const std::string& of_card) {
  constexpr std::array<std::string_view, 15> own{"name",    "pci_addr",    "side",       "func_type",  "parent",
                                                 "profile", "representor", "iface_name", "ibdev_name", "vuid",
                                                 "vhca_id", "mac_addr",    "ipv4_addr",  "ipv6_addr",  "sf_index"};
  const Value* const value = card.find(side);
  if (value == nullptr) {
    return;
  }
  const std::string where = concat(of_card, ": ", side);
  const Table& table = detail::to_table(*value, where);
  Words known = keys_of_functions();
  std::erase_if(known, [&](std::string_view key) { return std::ranges::find(own, key) != own.end(); });
  detail::require_known(table, where + ": key", known);
  detail::read_fields(table, function.properties, where, DeviceProperties::fields());
  detail::read_fields(table, function, where, Function::fields());
}

/// first: the number of the first card where the table has none.
Cards read_cards(const Table& table, std::size_t index, const std::string& usual_profile, std::uint32_t first) {
  const std::string where = concat("card ", index + 1);
  Words known{"profile", "host", "dpu"};
  detail::add_names(known, Cards::fields());
  detail::require_known(table, where + ": key", known);
  std::string profile = usual_profile;
  if (const Value* const own = table.find("profile")) {
    detail::read(*own, profile, where + ": profile");
  }
  Cards cards(profile);
  cards.first = first;
  detail::read_fields(table, cards, where, Cards::fields());
  read_common(table, "host", cards.host, where);
  read_common(table, "dpu", cards.dpu, where);
  return cards;
}

/// The text of a key of the whole topology; the default where it is left out.
std::string text_of_key(const Table& table, std::string_view key, std::string_view usual) {
  std::string text(usual);
  if (const Value* const value = table.find(key)) {
    detail::read(*value, text, concat("topology: ", key));
  }
  return text;
}

Topology read_functions(const Table& table, const std::string& profile) {
  Topology topology;
  for (const Table* const function : detail::to_tables(table, "function", "topology")) {
    topology.functions.push_back(read_function(*function, topology.functions.size(), profile));
  }
  std::uint32_t first = 0;
  std::size_t index = 0;
  for (const Table* const card : detail::to_tables(table, "card", "topology")) {
    const Cards kind = read_cards(*card, index++, profile, first);
    add_cards(topology, kind);
    first = kind.first + kind.count;
  }
  return topology;
}

}  // namespace

Description read_topology(const Table& table) {
  detail::require_known(table, "topology: key", {"profile", "host_pci_addr", "card", "function", "timing"});
  const std::string profile = text_of_key(table, "profile", "bluefield3");
  const std::string host = text_of_key(table, "host_pci_addr", "0b:00.0");
  const bool has_own = table.find("card") != nullptr || table.find("function") != nullptr;
  const bool has_host = table.find("host_pci_addr") != nullptr;
  if (has_own && has_host) {
    throw Error(Status::invalid_value,
                "topology: host_pci_addr is an address of the default machine; give each function its pci_addr");
  }
  Description description{.topology = has_own ? read_functions(table, profile) : default_topology(profile, host),
                          .timing = {}};
  if (const Value* const timing = table.find("timing")) {
    description.timing = read_config(*timing);
  }
  return description;
}

}  // namespace pydoca::sim

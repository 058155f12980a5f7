#include <pydoca/sim.hpp>

#include "convert/bindings.hpp"
#include "device/fields.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pydoca::bindings {

namespace {

[[noreturn]] void refuse(const std::string& where, py::handle value, const char* wanted) {
  raise(Status::invalid_value, format_text("{} must be {}, not {!r}", where, wanted, value));
}

// Strict: does not accept numbers as truth values, and does not round or truncate numbers.
void from_plain(py::handle value, bool& field, const std::string& where) {
  if (!py::isinstance<py::bool_>(value)) refuse(where, value, "true or false");
  field = value.cast<bool>();
}

template <std::unsigned_integral T>
void from_plain(py::handle value, T& field, const std::string& where) {
  const py::int_ most(std::numeric_limits<T>::max());
  if (!py::isinstance<py::int_>(value) || py::isinstance<py::bool_>(value) || value < py::int_(0) || value > most) {
    refuse(where, value, format_text("a whole number in 0..{}", most).c_str());
  }
  field = value.cast<T>();
}

void from_plain(py::handle value, std::string& field, const std::string& where) {
  if (!py::isinstance<py::str>(value)) refuse(where, value, "text");
  field = to_utf8(value);
}

void from_plain(py::handle value, Side& field, const std::string& where) {
  std::string text;
  from_plain(value, text, where);
  field = *to_side(value);
}

void from_plain(py::handle value, PciFuncType& field, const std::string& where) {
  std::string text;
  from_plain(value, text, where);
  field = to_func_type(text);
}

template <class T>
  requires requires(T& address) { from_text(std::string_view(), address); }
void from_plain(py::handle value, T& field, const std::string& where) {
  std::string text;
  from_plain(value, text, where);
  from_text(text, field);
}

void from_plain(py::handle value, MtuSize& field, const std::string& /*where*/) { field = to_mtu(value); }

template <Fielded T>
void from_plain(py::handle value, T& field, const std::string& where);

// TOML has no null: false means that the engine is absent.
template <class T>
void from_plain(py::handle value, std::optional<T>& field, const std::string& where) {
  if (value.is_none() || value.is(py::bool_(false))) {
    field.reset();
  } else {
    from_plain(value, field ? *field : field.emplace(), where);
  }
}

template <class T>
void collect_names(std::vector<std::string_view>& names) {
  each_field(std::type_identity<T>(), [&](const char* name, auto, auto...) { names.emplace_back(name); });
}

void check_keys(const py::dict& table, const std::vector<std::string_view>& known, const std::string& where) {
  for (const auto& [key, value] : table) {
    const std::string word = py::str(key);
    if (std::ranges::find(known, word) == known.end()) refuse_word(where + ": key", word, known);
  }
}

py::dict to_table(py::handle value, const std::string& where) {
  if (!py::isinstance<py::dict>(value)) refuse(where, value, "a table");
  return py::reinterpret_borrow<py::dict>(value);
}

template <class T>
void read_fields(const py::dict& table, T& value, const std::string& where) {
  each_field(std::type_identity<T>(), [&](const char* name, auto field, auto...) {
    if (table.contains(name)) from_plain(table[name], value.*field, where + ": " + name);
  });
}

template <Fielded T>
void from_plain(py::handle value, T& field, const std::string& where) {
  const py::dict table = to_table(value, where);
  std::vector<std::string_view> known;
  collect_names<T>(known);
  check_keys(table, known, where);
  read_fields(table, field, where);
}

/// The capabilities that the profile gives to a function of that side and type.
Capabilities usual_capabilities(const DeviceProperties& properties) {
  Capabilities capabilities = sim::profile_capabilities(properties.profile, properties.side);
  if (properties.func_type != PciFuncType::pf) {
    capabilities.rep_filter_all = capabilities.rep_filter_net = capabilities.rep_filter_emulated = false;
  }
  return capabilities;
}

sim::Function to_function(py::handle value, std::size_t index) {
  std::string where = "function " + std::to_string(index + 1);
  const py::dict table = to_table(value, where);
  std::vector<std::string_view> known;
  collect_names<DeviceProperties>(known);
  collect_names<sim::Function>(known);
  check_keys(table, known, where);
  for (const char* const required : {"name", "pci_addr", "side", "profile"}) {
    if (!table.contains(required)) raise(Status::invalid_value, where + " needs a " + required);
  }
  sim::Function function;
  from_plain(table["name"], function.properties.name, where + ": name");
  where = "function \"" + function.properties.name + "\"";
  py::dict plain = table.attr("copy")();
  const py::object capabilities = plain.attr("pop")("capabilities", py::dict());
  read_fields(plain, function.properties, where);
  read_fields(plain, function, where);
  function.properties.capabilities = usual_capabilities(function.properties);
  from_plain(capabilities, function.properties.capabilities, where + ": capabilities");
  return function;
}

/// The numbers and texts of cards, by their keys.
template <class Visit>
void each_card_field(const Visit& visit) {
  using T = sim::Cards;
  visit("count", &T::count);
  visit("first", &T::first);
  visit("name", &T::name);
  visit("serial", &T::serial);
  visit("ports", &T::ports);
  visit("vfs", &T::vfs);
  visit("sfs", &T::sfs);
}

/// What the functions of one side have in common: the keys of a function but for its names, addresses and numbers.
void read_common(const py::object& value, sim::Function& function, const std::string& where) {
  const py::dict table = to_table(value, where);
  std::vector<std::string_view> known;
  collect_names<DeviceProperties>(known);
  collect_names<sim::Function>(known);
  constexpr std::array<std::string_view, 15> own{"name",    "pci_addr",    "side",       "func_type",  "parent",
                                                 "profile", "representor", "iface_name", "ibdev_name", "vuid",
                                                 "vhca_id", "mac_addr",    "ipv4_addr",  "ipv6_addr",  "sf_index"};
  std::erase_if(known, [&](std::string_view key) { return std::ranges::find(own, key) != own.end(); });
  check_keys(table, known, where);
  read_fields(table, function.properties, where);
  read_fields(table, function, where);
}

/// first: the number of the first card where the table has none.
sim::Cards to_cards(py::handle value, std::size_t index, std::uint32_t first) {
  const std::string where = "card " + std::to_string(index + 1);
  const py::dict table = to_table(value, where);
  std::vector<std::string_view> known{"profile", "host", "dpu"};
  each_card_field([&](const char* name, auto) { known.emplace_back(name); });
  check_keys(table, known, where);
  std::string profile;
  from_plain(table["profile"], profile, where + ": profile");
  sim::Cards cards(profile);
  cards.first = first;
  each_card_field([&](const char* name, auto field) {
    if (table.contains(name)) from_plain(table[name], cards.*field, where + ": " + name);
  });
  if (table.contains("host")) read_common(table["host"], cards.host, where + ": host");
  if (table.contains("dpu")) read_common(table["dpu"], cards.dpu, where + ": dpu");
  return cards;
}

sim::Topology to_topology(const py::iterable& functions, const py::iterable& cards) {
  sim::Topology topology;
  for (const py::handle function : functions) {
    topology.functions.push_back(to_function(function, topology.functions.size()));
  }
  std::uint32_t first = 0;
  std::size_t index = 0;
  for (const py::handle table : cards) {
    const sim::Cards kind = to_cards(table, index++, first);
    sim::add_cards(topology, kind);
    first = kind.first + kind.count;
  }
  return topology;
}

void set_topology(const py::iterable& functions, const py::iterable& cards) {
  sim::set_topology(to_topology(functions, cards));
}

py::list to_list(const sim::Topology& topology) {
  py::list functions;
  for (const sim::Function& function : topology.functions) {
    const py::object plain = to_plain(function.properties);
    plain.attr("update")(to_plain(function));
    functions.append(plain);
  }
  return functions;
}

}  // namespace

void change_capabilities(py::handle table, Capabilities& capabilities, const std::string& where) {
  from_plain(table, capabilities, where);
}

void bind_sim(py::module_& module) {
  module.def("sim_set_topology", &set_topology, "functions"_a, "cards"_a = py::tuple());
  module.def("sim_topology", [] { return to_list(sim::topology()); });
  module.def(
      "sim_default_topology", [](const std::string& profile) { return to_list(sim::default_topology(profile)); },
      "profile"_a);
  module.def("sim_profiles", &sim::profiles);
  module.def("sim_set_fabric", [](const std::string& name) { sim::set_fabric(name); }, "name"_a);
  module.def("sim_fabric", &sim::fabric);
  module.def("sim_fabric_directory", &sim::fabric_directory);
  module.def("sim_remove_device", [](const std::string& name) { sim::remove_device(name); }, "name"_a);
  module.def("sim_restore_device", [](const std::string& name) { sim::restore_device(name); }, "name"_a);
}

}  // namespace pydoca::bindings

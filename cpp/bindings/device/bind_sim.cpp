#include <pydoca/sim.hpp>

#include "convert/bindings.hpp"
#include "convert/value.hpp"
#include "device/fields.hpp"

#include <pybind11/stl.h>

#include <optional>
#include <string>

namespace pydoca::bindings {

namespace {

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

void bind_sim(py::module_& module) {
  module.def(
      "sim_load_topology", [](const py::object& table) { sim::load_topology(to_table(table, "topology")); }, "table"_a);
  module.def("sim_load_topology_file", [](const std::string& path) { sim::load_topology(path); }, "path"_a);
  module.def("sim_loaded_machine", [] {
    const std::optional<Table> table = sim::loaded_machine();
    return table ? py::object(to_python(*table)) : py::none();
  });
  module.def("sim_topology", [] { return to_list(sim::topology()); });
  module.def(
      "sim_default_topology",
      [](const std::string& profile, const std::string& host_pci_addr) {
        return to_list(sim::default_topology(profile, host_pci_addr));
      },
      "profile"_a, "host_pci_addr"_a);
  module.def("sim_profiles", &sim::profiles);
  module.def("sim_set_fabric", [](const std::string& name) { sim::set_fabric(name); }, "name"_a);
  module.def("sim_fabric", &sim::fabric);
  module.def("sim_fabric_directory", &sim::fabric_directory);
  module.def("sim_remove_device", [](const std::string& name) { sim::remove_device(name); }, "name"_a);
  module.def("sim_restore_device", [](const std::string& name) { sim::restore_device(name); }, "name"_a);
}

}  // namespace pydoca::bindings

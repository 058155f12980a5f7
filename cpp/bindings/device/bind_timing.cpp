#include <pydoca/sim.hpp>

#include "convert/bindings.hpp"
#include "convert/convert.hpp"
#include "convert/value.hpp"

#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

namespace pydoca::bindings {

void bind_timing(py::module_& module) {
  py::classh<sim::Config>(module, "SimConfig", "The engine's part of a Config.")
      .def(py::init([](const py::object& table) { return sim::read_config(to_table(table, "timing")); }), "table"_a)
      .def(
          "to_dict", [](const sim::Config& self) { return to_python(sim::table_of(self)); },
          "The keywords that make this configuration, with units.")
      .def(
          "__eq__", [](const sim::Config& self, const sim::Config& other) { return self == other; }, "other"_a,
          py::is_operator());
  module.def("sim_set_config", [](const sim::Config& config) { sim::set_config(config); }, "config"_a);
  module.def("sim_load_config_file", [](const std::string& path) { sim::load_config(path); }, "path"_a);
  module.def("sim_config", [] { return sim::config(); });
  module.def(
      "sim_timing", [](const std::string& device) { return to_python(sim::table_of(sim::timing_of(device))); },
      "device"_a, "The operations that are modelled, with units.");
  module.def("sim_timed_operations", [] {
    return std::vector<std::string_view>(sim::timed_operations().begin(), sim::timed_operations().end());
  });
}

}  // namespace pydoca::bindings

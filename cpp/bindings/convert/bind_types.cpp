#include <pydoca/types.hpp>

#include "convert/bindings.hpp"
#include "convert/names.hpp"
#include "convert/parse.hpp"
#include "convert/value.hpp"

#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <vector>

namespace pydoca::bindings {

namespace {

void bind_access(py::module_& module) {
  bind_names(py::native_enum<Access>(
                 module, "Access", "enum.IntFlag",
                 "The operations on a memory map's range that devices and peers may do. The local device may always\n"
                 "read. PCI flags are for the other side of the PCIe link; RDMA flags are for network peers."),
             access_names);
}

void bind_functions(py::module_& module) {
  bind_names(
      py::native_enum<PciFuncType>(module, "PciFuncType", "enum.IntEnum",
                                   "The type of a function: physical function, virtual function or scalable function."),
      func_type_names);
  bind_names(py::native_enum<RepFilter>(module, "RepFilter", "enum.IntFlag", "The representors that a list contains."),
             filter_names);
  bind_names(
      py::native_enum<Side>(module, "Side", "enum.IntEnum", "The side of the PCIe link on which a function appears."),
      named_sides);
}

/// words: what users wrote, which may be anything.
void require_known(const std::string& what, const py::iterable& words, const std::vector<std::string>& known) {
  for (const py::handle given : words) {
    if (!py::isinstance<py::str>(given)) refuse_type(what, "a str", given);
    const std::string word = to_utf8(given);
    if (std::ranges::find(known, word) == known.end()) refuse_word(what, word, {known.begin(), known.end()});
  }
}

void bind_submit_flags(py::module_& module) {
  py::native_enum<SubmitFlags>(
      module, "SubmitFlags", "enum.IntFlag",
      "Flags of a submission. FLUSH posts the task and every task that is submitted and not yet posted.\n"
      "Without FLUSH the task may stay unposted until the next flush.")
      .value("NONE", SubmitFlags::none)
      .value("FLUSH", SubmitFlags::flush)
      .value("OPTIMIZE_REPORTS", SubmitFlags::optimize_reports)
      .finalize();
}

}  // namespace

void bind_types(py::module_& module) {
  bind_access(module);
  bind_functions(module);
  bind_submit_flags(module);
  module.def(
      "read_toml",
      [](const std::string& path, const py::object& to_date) { return to_python(read_toml(path), to_date); },
      py::arg("path"), py::arg("to_date") = py::none(),
      "The table of a TOML file. to_date makes an object of the text of a date or a time. Raises OSError when the "
      "file\n"
      "cannot be read, InvalidValueError for what is not TOML or too much.");
  module.def("require_known", &require_known, py::arg("what"), py::arg("words"), py::arg("known"),
             "Raises InvalidValueError for the first unknown word. The message has the nearest known word.");
  module.def(
      "nearest_to",
      [](const std::string& word, const std::vector<std::string>& known) {
        return std::string(nearest_to(word, {known.begin(), known.end()}));
      },
      py::arg("word"), py::arg("known"), "The most similar of the known words; empty when none is similar enough.");
}

}  // namespace pydoca::bindings

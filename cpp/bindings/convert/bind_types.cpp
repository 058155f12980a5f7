#include <pydoca/types.hpp>

#include "convert/bindings.hpp"
#include "convert/parse.hpp"

#include <pybind11/native_enum.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <vector>

namespace pydoca::bindings {

namespace py = pybind11;

namespace {

void bind_access(py::module_& module) {
  py::native_enum<Access>(module, "Access", "enum.IntFlag",
                          "What may be done to a memory map's range, and by whom. The local device may always read; "
                          "PCI flags speak of the other side of the PCIe link, RDMA flags of a network peer.")
      .value("LOCAL_READ_ONLY", Access::local_read_only)
      .value("LOCAL_READ_WRITE", Access::local_read_write)
      .value("RDMA_READ", Access::rdma_read)
      .value("RDMA_WRITE", Access::rdma_write)
      .value("RDMA_ATOMIC", Access::rdma_atomic)
      .value("PCI_READ_ONLY", Access::pci_read_only)
      .value("PCI_READ_WRITE", Access::pci_read_write)
      .value("PCI_RELAXED_ORDERING", Access::pci_relaxed_ordering)
      .finalize();
}

void bind_functions(py::module_& module) {
  py::native_enum<PciFuncType>(module, "PciFuncType", "enum.IntEnum",
                               "Physical function, virtual function or scalable function.")
      .value("PF", PciFuncType::pf)
      .value("VF", PciFuncType::vf)
      .value("SF", PciFuncType::sf)
      .finalize();
  py::native_enum<RepFilter>(module, "RepFilter", "enum.IntFlag", "Which representors a list holds.")
      .value("ALL", RepFilter::all)
      .value("NET", RepFilter::net)
      .value("EMULATED", RepFilter::emulated)
      .finalize();
  py::native_enum<Side>(module, "Side", "enum.IntEnum", "The side of the PCIe link on which a function appears.")
      .value("HOST", Side::host)
      .value("DPU", Side::dpu)
      .finalize();
}

void require_known(const std::string& what, const std::vector<std::string>& words,
                   const std::vector<std::string>& known) {
  for (const std::string& word : words) {
    if (std::ranges::find(known, word) == known.end()) refuse_word(what, word, {known.begin(), known.end()});
  }
}

void bind_submit_flags(py::module_& module) {
  py::native_enum<SubmitFlags>(module, "SubmitFlags", "enum.IntFlag",
                               "How a task is submitted. FLUSH posts it and every unposted one before it; without, it "
                               "may stay unposted until the next flush.")
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
  module.def("require_known", &require_known, py::arg("what"), py::arg("words"), py::arg("known"),
             "Raises InvalidValueError for the first word that is not known, with the nearest one that is.");
}

}  // namespace pydoca::bindings

#include <pydoca/status.hpp>

#include "convert/bindings.hpp"
#include "convert/convert.hpp"

namespace pydoca::bindings {

void bind_status(py::module_& module) {
  translate_errors();
  module.attr("status_count") = status_count;
  module.def(
      "error_name", [](std::uint32_t number) { return to_str(error_name(static_cast<Status>(number))); },
      py::arg("number"), "DOCA's symbolic name of a status, such as DOCA_ERROR_AGAIN.");
  module.def(
      "error_descr", [](std::uint32_t number) { return to_str(error_descr(static_cast<Status>(number))); },
      py::arg("number"), "The meaning of a status, in one sentence.");
  module.def(
      "throw_error",
      [](std::uint32_t number, const std::string& text) { throw Error(static_cast<Status>(number), text); },
      py::arg("number"), py::arg("message"),
      "Raises the exception of this status, as a failed call of the engine does.");
}

}  // namespace pydoca::bindings

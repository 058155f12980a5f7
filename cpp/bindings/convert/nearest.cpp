#include "convert/nearest.hpp"

#include "convert/convert.hpp"
#include "convert/python.hpp"

#include <pybind11/stl.h>

namespace pydoca::bindings {

std::string nearest_to(std::string_view word, const std::vector<std::string_view>& known) {
  const py::list nearest = from_python("get_close_matches")(to_str(word), py::cast(known), 1);
  return nearest.empty() ? "" : nearest[0].cast<std::string>();
}

}  // namespace pydoca::bindings

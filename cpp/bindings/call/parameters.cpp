#include "call/parameters.hpp"

#include "convert/parse.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::bindings {

namespace {

[[noreturn]] void refuse(const Parameters& parameters, const std::string& why) {
  throw py::type_error(std::string(parameters.method) + "() " + why);
}

[[noreturn]] void refuse_keyword(const Parameters& parameters, const std::string& keyword) {
  const std::vector<std::string_view> known(parameters.names.begin(), parameters.names.end());
  const std::string nearest(nearest_to(keyword, known));
  refuse(parameters, "got an unexpected keyword argument '" + keyword + "'" +
                         (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

std::size_t index_of(const Parameters& parameters, PyObject* keyword) {
  const auto is_it = [&](const char* name) { return PyUnicode_CompareWithASCIIString(keyword, name) == 0; };
  const auto found = std::ranges::find_if(parameters.names, is_it);
  if (found == parameters.names.end()) refuse_keyword(parameters, py::handle(keyword).cast<std::string>());
  return static_cast<std::size_t>(found - parameters.names.begin());
}

}  // namespace

void sort_arguments(const Parameters& parameters, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords,
                    std::span<PyObject*> values) {
  const auto num_positional = static_cast<std::size_t>(num_args);
  if (num_positional > parameters.num_positional) {
    refuse(parameters, "takes at most " + std::to_string(parameters.num_positional) + " positional argument(s), not " +
                           std::to_string(num_positional));
  }
  std::copy_n(args, num_positional, values.begin());
  const Py_ssize_t num_keywords = keywords != nullptr ? PyTuple_GET_SIZE(keywords) : 0;
  for (Py_ssize_t i = 0; i < num_keywords; ++i) {
    const std::size_t index = index_of(parameters, PyTuple_GET_ITEM(keywords, i));
    if (values[index] != nullptr) {
      refuse(parameters, std::string("got the argument '") + parameters.names[index] + "' twice");
    }
    values[index] = args[num_args + i];
  }
  for (std::size_t i = 0; i < parameters.num_required; ++i) {
    if (values[i] == nullptr) refuse(parameters, std::string("needs the argument '") + parameters.names[i] + "'");
  }
}

}  // namespace pydoca::bindings

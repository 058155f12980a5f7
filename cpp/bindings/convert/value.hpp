/// Tables of the engine, as dictionaries of Python.
#pragma once

#include <pydoca/value.hpp>

#include "convert/pybind.hpp"

#include <string_view>

namespace pydoca::bindings {

/// A mapping, whose values may be anything. Throws TypeError for a key that is not a str; what names the table for
/// that.
[[nodiscard]] Table to_table(py::handle mapping, std::string_view what);

/// to_date: what makes an object of the text of a date, a time or both; None: that text is taken.
[[nodiscard]] py::dict to_python(const Table& table, const py::object& to_date = py::none());

}  // namespace pydoca::bindings

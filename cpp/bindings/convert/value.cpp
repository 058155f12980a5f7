#include "convert/value.hpp"

#include "convert/convert.hpp"
#include "convert/parse.hpp"

#include <string>
#include <type_traits>
#include <variant>

namespace pydoca::bindings {

namespace {

bool is_mapping(py::handle value) {
  return py::isinstance<py::dict>(value) || (PyMapping_Check(value.ptr()) != 0 && py::hasattr(value, "keys"));
}

Value to_number(py::handle value) {
  int overflow = 0;
  const std::int64_t number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow == 0) return number;
  const std::uint64_t large = overflow > 0 ? PyLong_AsUnsignedLongLong(value.ptr()) : 0;
  if (overflow > 0 && PyErr_Occurred() == nullptr) return large;
  PyErr_Clear();
  return OtherValue{py::str(value)};
}

Value to_value(py::handle value, std::string_view what);

Value to_list(py::handle values, std::string_view what) {
  List list;
  for (const py::handle value : values) list.push_back(to_value(value, what));
  return list;
}

Value to_nested(py::handle value, std::string_view what) {
  if (Py_EnterRecursiveCall(" in a table") != 0) throw py::error_already_set();
  try {
    Value nested = is_mapping(value) ? Value(to_table(value, what)) : to_list(value, what);
    Py_LeaveRecursiveCall();
    return nested;
  } catch (...) {
    Py_LeaveRecursiveCall();
    throw;
  }
}

Value to_value(py::handle value, std::string_view what) {
  if (value.is_none()) return {};
  if (py::isinstance<py::bool_>(value)) return value.is(py::bool_(true));
  if (py::isinstance<py::int_>(value)) return to_number(value);
  if (py::isinstance<py::float_>(value)) return PyFloat_AS_DOUBLE(value.ptr());
  if (py::isinstance<py::str>(value)) return to_utf8(value);
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value) || is_mapping(value)) {
    return to_nested(value, what);
  }
  return OtherValue{format_text("{!r}", value)};
}

/// Converts a value, by its kind.
struct Converter {
  const py::object& to_date;

  py::object convert(const Value& value) const { return std::visit(*this, value.is); }

  py::object operator()(std::monostate) const { return py::none(); }
  py::object operator()(const std::string& text) const { return to_str(text); }
  py::object operator()(const List& list) const {
    py::list plain;
    for (const Value& value : list) plain.append(convert(value));
    return plain;
  }
  py::object operator()(const Table& table) const { return to_python(table, to_date); }
  py::object operator()(const OtherValue& other) const {
    return to_date.is_none() ? to_str(other.text) : to_date(to_str(other.text));
  }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  py::object operator()(Number number) const {
    return py::cast(number);
  }
};

}  // namespace

Table to_table(py::handle mapping, std::string_view what) {
  const py::dict dict = py::isinstance<py::dict>(mapping) ? py::reinterpret_borrow<py::dict>(mapping)
                                                          : py::dict(py::reinterpret_borrow<py::object>(mapping));
  Table table;
  for (const auto& [key, value] : dict) {
    if (!py::isinstance<py::str>(key)) refuse_type(std::string(what) + ": key", "a str", key);
    table.entries.emplace_back(to_utf8(key), to_value(value, what));
  }
  return table;
}

py::dict to_python(const Table& table, const py::object& to_date) {
  const Converter converter{to_date};
  py::dict dict;
  for (const auto& [key, value] : table.entries) dict[to_str(key)] = converter.convert(value);
  return dict;
}

}  // namespace pydoca::bindings

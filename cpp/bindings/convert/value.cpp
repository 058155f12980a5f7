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

/// An integer beyond 64 bits has a text, which Python refuses to write where it has thousands of digits.
Value to_large_number(py::handle value) {
  const std::uint64_t number = PyLong_AsUnsignedLongLong(value.ptr());
  if (PyErr_Occurred() == nullptr) return number;
  PyErr_Clear();
  PyObject* const digits = PyObject_Str(value.ptr());
  if (digits != nullptr) return OtherValue{py::reinterpret_steal<py::str>(digits)};
  PyErr_Clear();
  return OtherValue{format_text("a number of {} bits", value.attr("bit_length")())};
}

Value to_number(py::handle value) {
  int overflow = 0;
  const std::int64_t number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  return overflow == 0 ? Value(number) : to_large_number(value);
}

/// Not every str is Unicode: a lone surrogate is not.
Value to_unicode(py::handle value) {
  try {
    return to_utf8(value);
  } catch (const py::error_already_set& error) {
    if (!error.matches(PyExc_UnicodeEncodeError)) throw;
    return OtherValue{format_text("{!a}", value)};
  }
}

/// A scalar of NumPy, say, as Python's own; null for any other object.
py::object to_scalar(py::handle value) {
  if (PyIndex_Check(value.ptr()) != 0) {
    if (PyObject* const number = PyNumber_Index(value.ptr())) return py::reinterpret_steal<py::object>(number);
    PyErr_Clear();
  }
  if (!py::hasattr(value, "item") || !py::hasattr(value, "shape")) return {};
  const py::object shape = value.attr("shape");
  return py::isinstance<py::tuple>(shape) && py::len(shape) == 0 ? value.attr("item")() : py::object();
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
  if (py::isinstance<py::str>(value)) return to_unicode(value);
  if (py::isinstance<py::list>(value) || py::isinstance<py::tuple>(value) || is_mapping(value)) {
    return to_nested(value, what);
  }
  if (const py::object scalar = to_scalar(value); scalar && !scalar.is(value)) return to_value(scalar, what);
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
    const Value name = to_unicode(key);
    if (const auto* const other = name.as<OtherValue>()) {
      raise(Status::invalid_value, std::string(what) + ": " + other->text + " is not a key, as it is not Unicode");
    }
    table.entries.emplace_back(*name.as<std::string>(), to_value(value, what));
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

/// Methods as CPython's own are made, for what is called so often that pybind11's dispatch would cost more than the
/// work.
#pragma once

#include "convert/view.hpp"

#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace pydoca::bindings {

/// The first of the C++ objects in an instance of a bound class; null when __init__ was never called.
inline void* first_value(PyObject* self) noexcept {
  const auto* instance = reinterpret_cast<const pybind11::detail::instance*>(self);
  if (instance->simple_layout) {
    return instance->simple_holder_constructed ? instance->simple_value_holder[0] : nullptr;
  }
  const bool made = (*instance->nonsimple.status & pybind11::detail::instance::status_holder_constructed) != 0;
  return made ? *instance->nonsimple.values_and_holders : nullptr;
}

/// cast<T&>(), which knows of classes made in Python and of several C++ objects in one. Throws TypeError when __init__
/// was never called.
template <class T>
[[gnu::noinline]] T& cast_object_of(PyObject* self) {
  if (!pybind11::detail::is_holder_constructed(self)) {
    throw pybind11::type_error(std::string(Py_TYPE(self)->tp_name) + ".__init__() was never called");
  }
  return pybind11::handle(self).cast<T&>();
}

/// The C++ object of an instance of a bound class T or one derived from it, as cast_object_of() at a fraction of its
/// cost.
template <class T>
T& object_of(PyObject* self) {
  static const auto* const bound = reinterpret_cast<PyTypeObject*>(pybind11::type::of<T>().ptr());
  // A subclass made in Python has another tp_dealloc, and may have several C++ objects.
  void* const value = Py_TYPE(self)->tp_dealloc == bound->tp_dealloc ? first_value(self) : nullptr;
  return value != nullptr ? *static_cast<T*>(value) : cast_object_of<T>(self);
}

/// What a method takes: names in order, of which the first num_required must be given and those from num_positional on
/// by keyword only.
struct Parameters {
  const char* method;
  std::span<const char* const> names;
  std::size_t num_required;
  std::size_t num_positional;
};

/// Sorts what METH_FASTCALL | METH_KEYWORDS hands over into values, one per name, null where nothing was given. Throws
/// TypeError as Python would.
void sort_arguments(const Parameters& parameters, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords,
                    std::span<PyObject*> values);

/// The same, at once for what is called most: positional arguments alone.
template <std::size_t num_names>
std::array<PyObject*, num_names> arguments(const Parameters& parameters, PyObject* const* args, Py_ssize_t num_args,
                                           PyObject* keywords) {
  std::array<PyObject*, num_names> values{};
  if (keywords == nullptr && num_args == 1 && parameters.num_required <= 1 && parameters.num_positional >= 1)
      [[likely]] {
    values[0] = args[0];
  } else {
    sort_arguments(parameters, args, num_args, keywords, values);
  }
  return values;
}

/// The truth of an argument such as submit, which is true where nothing was given.
inline bool is_true(PyObject* value) {
  const int truth = value == nullptr ? 1 : PyObject_IsTrue(value);
  if (truth < 0) throw pybind11::error_already_set();
  return truth != 0;
}

using RawFunction = PyObject*(PyObject* self, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords);

/// An entry of a method table; doc begins with the signature that Python shows.
inline PyMethodDef raw_method(const char* name, RawFunction* function, const char* doc) noexcept {
  // CPython calls it by its real type, as the flags say.
  const auto untyped = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
  return {name, untyped, METH_FASTCALL | METH_KEYWORDS, doc};
}

/// Gives the class these methods; they must live as long as the program.
void add_methods(pybind11::handle type, std::span<PyMethodDef> methods);

/// call()'s result, a new reference; null with the Python error for what it throws.
template <class Call>
PyObject* guarded(const Call& call) noexcept {
  try {
    return call();
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

}  // namespace pydoca::bindings

/// Methods made as CPython makes its own, for calls so frequent that pybind11's dispatch would cost more than their
/// work.
#pragma once

#include "call/parameters.hpp"
#include "call/raw_signature.hpp"
#include "convert/pybind.hpp"
#include "convert/pybind_internals.hpp"
#include "convert/view.hpp"

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <type_traits>

namespace pydoca::bindings {

/// Does what cast<T&>() does: it also handles classes made in Python, and instances with several C++ objects. Throws
/// TypeError when __init__ was never called.
template <class T>
[[gnu::noinline]] T& cast_object_of(PyObject* self) {
  if (!is_whole(self)) {
    throw py::type_error(std::string(Py_TYPE(self)->tp_name) + ".__init__() was never called");
  }
  return py::handle(self).cast<T&>();
}

/// The class that Python has for T. A static in a function would have a guard, and code for its failure, wherever it is
/// read.
template <class T>
class BoundType {
 public:
  [[gnu::always_inline]] static PyTypeObject* get() {
    if (type_ == nullptr) [[unlikely]] {
      find();
    }
    return type_;
  }

 private:
  [[gnu::cold, gnu::noinline]] static void find() { type_ = reinterpret_cast<PyTypeObject*>(py::type::of<T>().ptr()); }

  static constinit inline PyTypeObject* type_ = nullptr;
};

/// The C++ object of an instance of T, or of a bound class derived from T. Does what cast_object_of() does at a
/// fraction of its cost.
template <class T>
[[gnu::always_inline]] inline T& object_of(PyObject* self) {
  // A subclass made in Python has another tp_dealloc, and may have several C++ objects.
  void* const value = Py_TYPE(self)->tp_dealloc == BoundType<T>::get()->tp_dealloc ? first_value(self) : nullptr;
  return value != nullptr ? *static_cast<T*>(value) : cast_object_of<T>(self);
}

/// Does what sort_arguments() does; fast for the most frequent calls, those without keywords.
template <std::size_t num_names>
std::array<PyObject*, num_names> arguments(const Parameters& parameters, PyObject* const* args, Py_ssize_t num_args,
                                           PyObject* keywords) {
  std::array<PyObject*, num_names> values{};
  const auto count = static_cast<std::size_t>(num_args);
  if (keywords == nullptr && parameters.num_required <= count && count <= parameters.num_positional) [[likely]] {
    for (std::size_t i = 0; i < num_names; ++i) values[i] = i < count ? args[i] : nullptr;  // faster than memmove()
  } else {
    sort_arguments(parameters, args, num_args, keywords, values);
  }
  return values;
}

/// Does what argument_of() does, also for instances of classes made in Python.
template <class T>
[[gnu::noinline]] T& cast_argument_of(PyObject* value, const char* wanted) {
  if (!py::isinstance<T>(value)) {
    throw py::type_error(std::string(wanted) + " is needed, not " + Py_TYPE(value)->tp_name);
  }
  return cast_object_of<T>(value);
}

/// The C++ object of an argument that must be a T. wanted ("a pydoca.Buf") names the type in the TypeError for any
/// other.
template <class T>
[[gnu::always_inline]] inline T& argument_of(PyObject* value, const char* wanted) {
  void* const exact = Py_TYPE(value) == BoundType<T>::get() ? first_value(value) : nullptr;
  return exact != nullptr ? *static_cast<T*>(exact) : cast_argument_of<T>(value, wanted);
}

/// The truth value of an optional argument such as submit; true when the caller did not give it.
[[gnu::always_inline]] inline bool is_true(PyObject* value) {
  if (value == nullptr || value == Py_True) return true;
  const int truth = PyObject_IsTrue(value);
  if (truth < 0) throw py::error_already_set();
  return truth != 0;
}

/// Returns the result of call(), a new reference. When call() throws, sets the Python error and returns null.
template <class Call>
PyObject* guarded(const Call& call) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      return Py_NewRef(Py_None);
    } else {
      return call();
    }
  } catch (...) {
    set_python_error();
    return nullptr;
  }
}

/// A function of CPython's without further arguments.
template <auto function>
PyObject* call_without_arguments(PyObject* self, PyObject* /*unused*/) {
  return guarded([&] { return function(self); });
}

/// A function of CPython's with the arguments of a signature.
template <Text signature, auto function>
PyObject* call_with_arguments(PyObject* self, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords) {
  using Given = RawSignature<signature>;
  return guarded([&] { return function(self, arguments<Given::size>(Given::parameters, args, num_args, keywords)); });
}

using RawFunction = PyObject*(PyObject* self, PyObject* const* args, Py_ssize_t num_args, PyObject* keywords);

/// An entry of a method table. doc begins with the signature that Python shows.
inline PyMethodDef raw_entry(const char* name, RawFunction* function, const char* doc) noexcept {
  // The flags tell CPython the real type of the function.
  const auto untyped = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
  return {name, untyped, METH_FASTCALL | METH_KEYWORDS, doc};
}

/// An entry of a method table, which calls function(self, values): an array with a value for each parameter of the
/// signature, null for each argument that the caller did not give; function(self) without parameters. function returns
/// a new reference, or nothing.
template <Text signature, auto function>
PyMethodDef raw_method(const char* doc) {
  static const std::string text = std::string(signature.view()) + "\n--\n\n" + doc;
  if constexpr (RawSignature<signature>::size == 0) {
    return {RawSignature<signature>::parameters.method, &call_without_arguments<function>, METH_NOARGS, text.c_str()};
  } else {
    return raw_entry(RawSignature<signature>::parameters.method, &call_with_arguments<signature, function>,
                     text.c_str());
  }
}

/// The getter of a property: a number of the engine's object, which path gives for the Python object of class T.
template <class T, auto path, auto member>
PyObject* read_number(PyObject* self, void* /*unused*/) {
  return guarded([&] {
    const auto& object = std::invoke(path, static_cast<const T&>(object_of<T>(self)));
    return PyLong_FromUnsignedLongLong(std::invoke(member, object));
  });
}

/// Does the same for a truth value.
template <class T, auto path, auto member>
PyObject* read_flag(PyObject* self, void* /*unused*/) {
  return guarded([&] {
    const auto& object = std::invoke(path, static_cast<const T&>(object_of<T>(self)));
    return PyBool_FromLong(std::invoke(member, object) ? 1 : 0);
  });
}

/// A property with PyGetSetDef's getter and setter; a null setter makes it read-only.
inline PyGetSetDef raw_property(const char* name, getter get, setter set, const char* doc) noexcept {
  return {name, get, set, doc, nullptr};
}

/// Adds the properties to the class. They must live as long as the program.
void add_properties(py::handle type, std::span<PyGetSetDef> properties);

/// Adds the methods to the class, and to their docs a line with the types that the stub has. They must live as long as
/// the program.
void add_methods(py::handle type, std::span<PyMethodDef> methods);

/// Runs call() for a setter: 0, or -1 with the Python error set.
template <class Call>
int guarded_setting(const Call& call) noexcept {
  try {
    call();
    return 0;
  } catch (...) {
    set_python_error();
    return -1;
  }
}

}  // namespace pydoca::bindings

#include "call/method.hpp"

#include "call/parameters.hpp"
#include "call/signature.hpp"
#include "convert/python.hpp"
#include "convert/view.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <forward_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <structmember.h>
#include <vector>

namespace pydoca::bindings {

namespace {

/// The most parameters of a method, without self.
constexpr std::size_t max_parameters = 40;

/// A function of pybind11, with the attributes that Python reads from a function.
struct Method {
  PyObject ob_base;
  vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* name;
  PyObject* qualified_name;
  PyObject* module_name;
  PyObject* signature;
  PyObject* doc;
  PyObject* called;                       ///< its name in errors; for a constructor, the name of the class
  const std::vector<std::string>* names;  ///< the names of its parameters; null: pybind11 checks the arguments
  std::size_t num_required;
  std::size_t num_positional;
  std::size_t num_bound;  ///< 1: the first argument is self
};

const Method& method_of(PyObject* self) noexcept { return *reinterpret_cast<const Method*>(self); }

void require_fitting(const Method& method, PyObject* const* args, std::size_t num_args, PyObject* keywords) {
  const char* const called = PyUnicode_AsUTF8(method.called);
  if (num_args < method.num_bound) throw py::type_error(std::string(called) + "() needs an object to work on");
  std::array<const char*, max_parameters> names{};
  std::ranges::transform(*method.names, names.begin(), &std::string::c_str);
  std::array<PyObject*, max_parameters> values{};
  const std::size_t size = method.names->size();
  sort_arguments({called, std::span(names).first(size), method.num_required, method.num_positional},
                 args + method.num_bound, static_cast<Py_ssize_t>(num_args - method.num_bound), keywords,
                 std::span(values).first(size));
}

/// What was given: "(-1, max=3)", each value at a bounded length.
std::string given_of(PyObject* const* args, std::size_t num_args, PyObject* keywords) {
  constexpr std::size_t longest = 60;
  const std::size_t num_keywords = keywords != nullptr ? static_cast<std::size_t>(PyTuple_GET_SIZE(keywords)) : 0;
  std::string text;
  for (std::size_t i = 0; i < num_args + num_keywords; ++i) {
    const auto value = py::repr(py::handle(args[i])).cast<std::string>();
    text += i == 0 ? "" : ", ";
    if (i >= num_args) {
      const py::handle keyword = PyTuple_GET_ITEM(keywords, static_cast<Py_ssize_t>(i - num_args));
      text += keyword.cast<std::string>() + "=";
    }
    text += value.size() <= longest ? value : value.substr(0, longest - 3) + "...";
  }
  return "(" + text + ")";
}

std::string docstring_of(py::handle function) {
  const py::object docstring = function.attr("__doc__");
  return docstring.is_none() ? "" : docstring.cast<std::string>();
}

/// pybind11 answers arguments that it cannot convert with several lines, of the types of C++: one line takes their
/// place.
void shorten_refusal(const Method& method, PyObject* const* args, std::size_t num_args, PyObject* keywords) {
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0) return;
  py::error_already_set error;
  const std::string text = py::str(error.value());
  if (text.find(" arguments. The following argument types are supported") == std::string::npos) {
    error.restore();
    return;
  }
  const std::string message = std::string(PyUnicode_AsUTF8(method.called)) + "() takes " +
                              parameters_of(docstring_of(method.function)) + ", not " +
                              given_of(args + method.num_bound, num_args - method.num_bound, keywords);
  PyErr_SetString(PyExc_TypeError, message.c_str());
}

PyObject* call(PyObject* self, PyObject* const* args, std::size_t flags_and_num_args, PyObject* keywords) {
  const Method& method = method_of(self);
  const auto num_args = static_cast<std::size_t>(PyVectorcall_NARGS(flags_and_num_args));
  const std::size_t num_given = num_args - method.num_bound;
  const bool plain = keywords == nullptr && num_given >= method.num_required && num_given <= method.num_positional;
  if (!plain && method.names != nullptr) {
    try {
      require_fitting(method, args, num_args, keywords);
    } catch (...) {
      set_python_error();
      return nullptr;
    }
  }
  PyObject* const result = PyObject_Vectorcall(method.function, args, flags_and_num_args, keywords);
  if (result == nullptr && num_args >= method.num_bound) [[unlikely]] {
    try {
      shorten_refusal(method, args, num_args, keywords);
    } catch (...) {
      set_python_error();
    }
  }
  return result;
}

PyObject* bind(PyObject* self, PyObject* instance, PyObject* /*type*/) {
  return instance == nullptr || method_of(self).num_bound == 0 ? Py_NewRef(self) : PyMethod_New(self, instance);
}

void dealloc_method(PyObject* self) {
  auto& method = *reinterpret_cast<Method*>(self);
  for (PyObject* const object : {method.function, method.name, method.qualified_name, method.module_name,
                                 method.signature, method.doc, method.called}) {
    Py_XDECREF(object);
  }
  delete method.names;
  Py_TYPE(self)->tp_free(self);
}

PyObject* represent(PyObject* self) {
  const Method& method = method_of(self);
  return PyUnicode_FromFormat("<function %U.%U>", method.module_name, method.qualified_name);
}

constexpr PyMemberDef member(const char* name, std::size_t offset) {
  return {name, T_OBJECT, static_cast<Py_ssize_t>(offset), READONLY, nullptr};
}

/// The signature with types, which Python reads from the stubs. Raises AttributeError where there is none: inspect then
/// takes __text_signature__.
PyObject* typed_signature(PyObject* self, void* /*closure*/) {
  try {
    const py::object signature = from_python("typed_signature")(py::handle(method_of(self).qualified_name),
                                                                py::handle(method_of(self).signature));
    if (!signature.is_none()) return py::object(signature).release().ptr();
    PyErr_SetString(PyExc_AttributeError, "__signature__");
  } catch (...) {
    set_python_error();
  }
  return nullptr;
}

/// None, as of a builtin function: typing.get_type_hints() raises for what has no such attribute.
PyObject* annotations(PyObject* /*self*/, void* /*closure*/) { return PyDict_New(); }

PyTypeObject make_type() {
  static std::array properties{
      PyGetSetDef{"__annotations__", &annotations, nullptr, nullptr, nullptr},
      PyGetSetDef{"__signature__", &typed_signature, nullptr, nullptr, nullptr},
      PyGetSetDef{},
  };
  static std::array members{
      member("__name__", offsetof(Method, name)),
      member("__qualname__", offsetof(Method, qualified_name)),
      member("__module__", offsetof(Method, module_name)),
      member("__text_signature__", offsetof(Method, signature)),
      member("__doc__", offsetof(Method, doc)),
      PyMemberDef{},
  };
  PyTypeObject type{};
  type.ob_base = {PyObject_HEAD_INIT(nullptr) 0};
  type.tp_name = "pydoca.method";
  type.tp_basicsize = sizeof(Method);
  type.tp_vectorcall_offset = offsetof(Method, vectorcall);
  // With this flag, a call through an instance creates no bound method.
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                  Py_TPFLAGS_DISALLOW_INSTANTIATION;
  type.tp_dealloc = &dealloc_method;
  type.tp_call = &PyVectorcall_Call;
  type.tp_descr_get = &bind;
  type.tp_repr = &represent;
  type.tp_members = members.data();
  type.tp_getset = properties.data();
  return type;
}

PyTypeObject* method_type() {
  static PyTypeObject type = make_type();
  if (type.tp_dict == nullptr && PyType_Ready(&type) != 0) throw py::error_already_set();
  return &type;
}

/// Without a complete list of parameters, pybind11 checks the arguments.
void add_parameters(Method& method, const Signature& signature) {
  method.num_positional = max_parameters;
  if (!signature.is_complete) return;
  auto names = std::make_unique<std::vector<std::string>>();
  for (const Parameter& parameter : signature.parameters) names->push_back(parameter.name);
  if (names->size() > max_parameters) throw std::length_error("a method has too many parameters");
  const auto optional = std::ranges::find_if_not(signature.parameters, &std::string::empty, &Parameter::value);
  method.num_required = static_cast<std::size_t>(optional - signature.parameters.begin());
  method.num_positional = signature.num_positional;
  method.names = names.release();
}

PyObject* text(const std::string& text) { return py::str(text).release().ptr(); }

/// All of its members are null or 0.
py::object new_method() {
  Method* const method = PyObject_New(Method, method_type());
  if (method == nullptr) throw py::error_already_set();
  const PyObject base = method->ob_base;
  *method = Method{};
  method->ob_base = base;
  return py::reinterpret_steal<py::object>(&method->ob_base);
}

/// Null unless function is one of pybind11's.
py::object present(py::handle function, bool is_method, const std::string& owner, const std::string& module_name) {
  if (PyCFunction_Check(function.ptr()) == 0) return {};
  const std::string docstring = docstring_of(function);
  const auto name = function.attr("__name__").cast<std::string>();
  if (!has_signature(docstring, name)) return {};
  const Signature signature = signature_of(docstring, is_method);
  py::object object = new_method();
  Method& method = *reinterpret_cast<Method*>(object.ptr());
  method.vectorcall = &call;
  method.function = Py_NewRef(function.ptr());
  method.name = text(name);
  method.qualified_name = text(owner + name);
  method.module_name = text(module_name);
  method.signature = text(signature.text);
  method.doc = text(signature.doc);
  method.called = text(name == "__init__" ? owner.substr(0, owner.size() - 1) : name);
  method.num_bound = is_method ? 1 : 0;
  add_parameters(method, signature);
  return object;
}

/// What a class has under a name: a static method's function, or that of a method of pybind11's.
py::object function_of(py::handle attribute) {
  if (Py_TYPE(attribute.ptr()) == &PyStaticMethod_Type) return attribute.attr("__func__");
  const bool is_method = PyInstanceMethod_Check(attribute.ptr()) != 0;
  return py::reinterpret_borrow<py::object>(is_method ? PyInstanceMethod_Function(attribute.ptr()) : attribute.ptr());
}

void present_class(py::handle type) {
  const auto attributes = py::reinterpret_borrow<py::dict>(reinterpret_cast<PyTypeObject*>(type.ptr())->tp_dict);
  const std::string owner = type.attr("__qualname__").cast<std::string>() + ".";
  const auto module_name = type.attr("__module__").cast<std::string>();
  for (const auto& [name, attribute] : py::dict(attributes.attr("copy")())) {
    if (name.cast<std::string>().starts_with("_pybind11")) continue;
    const bool is_static = Py_TYPE(attribute.ptr()) == &PyStaticMethod_Type;
    const bool is_method = PyInstanceMethod_Check(attribute.ptr()) != 0;
    const py::object method = present(function_of(attribute), is_method, owner, module_name);
    if (!method) continue;
    const auto shown = is_static ? py::reinterpret_steal<py::object>(PyStaticMethod_New(method.ptr())) : method;
    py::setattr(type, name, shown);
  }
}

void set_module_of(PyObject* function, const std::string& module_name) {
  if (Py_TYPE(function) == method_type()) {
    auto& method = *reinterpret_cast<Method*>(function);
    Py_SETREF(method.module_name, text(module_name));
  } else if (PyFunction_Check(function) != 0) {
    py::setattr(function, "__module__", py::str(module_name));
  }
}

void publish_class(const py::object& object, const std::string& module_name) {
  auto* const type = reinterpret_cast<PyTypeObject*>(object.ptr());
  object.attr("__module__") = module_name;
  if (std::string_view(type->tp_name).starts_with("pydoca.")) {
    static auto& names = *new std::forward_list<std::string>;  // CPython keeps the pointer
    type->tp_name = names.emplace_front(module_name + "." + object.attr("__qualname__").cast<std::string>()).c_str();
  }
  for (const auto& [name, attribute] : py::reinterpret_borrow<py::dict>(type->tp_dict)) {
    const bool is_static = Py_TYPE(attribute.ptr()) == &PyStaticMethod_Type;
    set_module_of(is_static ? py::object(attribute.attr("__func__")).ptr() : attribute.ptr(), module_name);
  }
}

}  // namespace

void publish(const py::object& object, const std::string& module_name) {
  if (PyType_Check(object.ptr()) != 0) {
    publish_class(object, module_name);
  } else {
    set_module_of(object.ptr(), module_name);
  }
}

void present_methods(py::module_& module) {
  const auto attributes = py::reinterpret_borrow<py::dict>(module.attr("__dict__"));
  const auto module_name = module.attr("__name__").cast<std::string>();
  for (const auto& [name, value] : py::dict(attributes.attr("copy")())) {
    if (PyType_Check(value.ptr()) != 0) {
      present_class(value);
    } else if (const py::object function = present(value, false, "", module_name)) {
      py::setattr(module, name, function);
    }
  }
}

}  // namespace pydoca::bindings

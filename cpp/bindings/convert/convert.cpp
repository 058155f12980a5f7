#include "convert/convert.hpp"

#include <pydoca/value.hpp>

#include "convert/python.hpp"

#include <cerrno>
#include <cstdint>
#include <exception>
#include <utility>

namespace pydoca::bindings {

namespace {

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(std::move(thrown));
  } catch (const FileError& error) {  // the class of OSError for its number
    errno = error.error();
    PyErr_SetFromErrnoWithFilename(PyExc_OSError, error.path().c_str());
  } catch (const Error& error) {
    // A signal may have ended a wait in the engine: then the exception of its handler says more.
    if (error.status() == Status::again && PyErr_CheckSignals() != 0) return;
    const py::object exception = to_exception(error.status(), error.what());
    PyErr_SetObject(py::type::handle_of(exception).ptr(), exception.ptr());
  }
}

/// Most callbacks are functions of Python or C, and need no call of Python code. A function that inspect's markers make
/// one of another kind has attributes.
bool is_plain_function(PyObject* callback) noexcept {
  PyObject* const function = PyMethod_Check(callback) != 0 ? PyMethod_Function(callback) : callback;
  if (PyFunction_Check(function) == 0) {
    return PyCFunction_Check(function) != 0;
  }
  constexpr int deferred = CO_COROUTINE | CO_GENERATOR | CO_ASYNC_GENERATOR;
  const auto& called = *reinterpret_cast<const PyFunctionObject*>(function);
  const auto& code = *reinterpret_cast<const PyCodeObject*>(called.func_code);
  return (code.co_flags & deferred) == 0 && called.func_dict == nullptr;
}

}  // namespace

py::str to_str(std::string_view text) {
  PyObject* const decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (decoded == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::str>(decoded);
}

py::bytes to_python(std::span<const std::byte> bytes) {
  const auto* const data = reinterpret_cast<const char*>(bytes.data());
  PyObject* const made = PyBytes_FromStringAndSize(data, static_cast<Py_ssize_t>(bytes.size()));
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::bytes>(made);
}

py::object to_python(std::uint64_t number) {
  PyObject* const made = PyLong_FromUnsignedLongLong(number);
  if (made == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(made);
}

std::string type_name(py::handle object) { return py::type::handle_of(object).attr("__name__").cast<std::string>(); }

py::object to_exception(Status status, std::string_view message) {
  return from_python("errors").attr("from_status")(static_cast<std::uint32_t>(status), to_str(message));
}

py::object to_status(Status status) { return from_python("errors").attr("Status")(static_cast<std::uint32_t>(status)); }

void raise(Status status, std::string_view message) { raise(to_exception(status, message)); }

void raise_named(const char* name, const std::string& message) {
  raise(py::object(from_python("errors").attr(name)(to_str(message))));
}

void raise_stuck(const std::string& what) {
  raise_named("DeadlockError", what + ": in virtual time nothing can happen any more that would end the wait");
}

void raise(const py::object& exception) {
  PyErr_SetObject(py::type::handle_of(exception).ptr(), exception.ptr());
  throw py::error_already_set();
}

bool is_docas(const py::error_already_set& error) { return error.matches(from_python("errors").attr("DocaError")); }

void require_callback(const py::object& callback, const char* argument) {
  if (!callback.is_none() && PyCallable_Check(callback.ptr()) == 0) {
    throw py::type_error(format_text("{} must be callable, or None, not {}", argument, type_name(callback)));
  }
  if (!callback.is_none()) require_plain_function(argument, callback);
}

void require_plain_function(const char* argument, const py::object& callback) {
  if (is_plain_function(callback.ptr())) return;
  static const py::object& require = from_python("require_plain_function");
  require(argument, callback);
}

void translate_errors() { py::register_local_exception_translator(translate); }

}  // namespace pydoca::bindings

/// Between the engine's values and Python's, where pybind11 has no conversion of its own.
#pragma once

#include <pydoca/status.hpp>

#include <pybind11/pybind11.h>

#include <string>
#include <string_view>

namespace pydoca::bindings {

/// Text of unknown origin (messages hold paths and peers' names); what is not UTF-8 is replaced, never
/// refused.
[[nodiscard]] pybind11::str to_str(std::string_view text);

/// An instance of the exception class that stands for status; a Python object, not yet raised.
[[nodiscard]] pybind11::object to_exception(Status status, std::string_view message);

/// Throws the same, for the data path's statuses; must not be called with success.
[[noreturn]] void raise(Status status, std::string_view message);

/// The member of pydoca.Status.
[[nodiscard]] pybind11::object to_status(Status status);

/// Throws the exception class of pydoca._errors that is called name, for those that share their status with another.
[[noreturn]] void raise_named(const char* name, const std::string& message);

/// Throws a Python exception that was made already.
[[noreturn]] void raise(const pybind11::object& exception);

/// Whether it is a DocaError.
[[nodiscard]] bool is_docas(const pybind11::error_already_set& error);

/// Throws TypeError, naming the argument, unless callback is None or can be called.
void require_callback(const pybind11::object& callback, const char* argument);

/// Lets pydoca::Error leave a bound function as the exception class of its status.
void translate_errors();

}  // namespace pydoca::bindings

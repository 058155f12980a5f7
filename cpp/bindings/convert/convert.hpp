/// Conversions between the engine's values and Python's, for types that pybind11 cannot convert.
#pragma once

#include <pydoca/status.hpp>

#include "convert/pybind.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pydoca::bindings {

/// Converts text of unknown origin, such as a path or a peer's name. Bytes that are not UTF-8 are replaced; this never
/// fails for them.
[[nodiscard]] py::str to_str(std::string_view text);

/// A copy as bytes of Python. Throws error_already_set when memory is short.
[[nodiscard]] py::bytes to_python(std::span<const std::byte> bytes);
[[nodiscard]] py::object to_python(std::uint64_t number);

/// The text that Python's str.format() gives.
template <class... Args>
[[nodiscard]] std::string format_text(const char* text, const Args&... args) {
  return py::str(text).format(args...).template cast<std::string>();
}

/// The name of the object's type, for messages.
[[nodiscard]] std::string type_name(py::handle object);

/// An instance of the exception class for status: a Python object, not raised.
[[nodiscard]] py::object to_exception(Status status, std::string_view message);

/// Throws that exception, for the statuses of the data path. Must not be called with success.
[[noreturn]] void raise(Status status, std::string_view message);

/// The member of pydoca.Status for status.
[[nodiscard]] py::object to_status(Status status);

/// Throws the exception class of that name in pydoca._errors, for classes that share their status with another class.
[[noreturn]] void raise_named(const char* name, const std::string& message);
/// Throws DeadlockError: in virtual time nothing can end the wait, which is called what.
[[noreturn]] void raise_stuck(const std::string& what);

/// Throws a Python exception object.
[[noreturn]] void raise(const py::object& exception);

/// Whether error is a DocaError.
[[nodiscard]] bool is_docas(const py::error_already_set& error);

/// Throws TypeError with the argument's name, unless callback is None, or callable and a plain function.
void require_callback(const py::object& callback, const char* argument);
/// Throws TypeError when a call of callback, which is callable, would only make a coroutine or a generator. argument
/// names what the callback is for.
void require_plain_function(const char* argument, const py::object& callback);

/// Translates a pydoca::Error that leaves a bound function into the exception class of its status.
void translate_errors();

}  // namespace pydoca::bindings

#pragma once

#include "convert/pybind.hpp"

#include <string_view>

namespace pydoca::bindings {

/// Gives a RuntimeWarning, as Python does for its coroutines, at the end of an object that does nothing until it is
/// awaited, and never was. call is the call that made the object: "recv". level is the frame that the warning names: 1
/// is the one that runs. An exception that is being raised is kept.
void warn_never_awaited(std::string_view call, int level = 1) noexcept;

/// Has instances of the class, whose C++ objects are Awaitables, warn at their end as Awaitable::call_without_effect()
/// says; those that were used stay as Awaitable::stays() says. All classes of Awaitables need it, because classes with
/// the same tp_dealloc make object_of() fast.
void set_warning_dealloc(PyTypeObject& type) noexcept;

}  // namespace pydoca::bindings

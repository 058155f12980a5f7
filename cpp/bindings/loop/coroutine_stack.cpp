#include "loop/coroutine_stack.hpp"

#include "convert/python.hpp"

#include <pybind11/gil_safe_call_once.h>

#include <cstdint>
#include <string_view>

namespace pydoca::bindings {

namespace {

/// The bytecode of an await: the instruction that resumes the awaited object, and the one that fills the cache entries
/// behind it.
struct Instructions {
  std::uint8_t send;
  std::uint8_t cache;
};

const Instructions& instructions() {
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<Instructions> storage;
  const auto find = [] {
    const py::object numbers = bridge_module().attr("opmap");
    return Instructions{numbers["SEND"].cast<std::uint8_t>(), numbers["CACHE"].cast<std::uint8_t>()};
  };
  return storage.call_once_and_store_result(find).get_stored();
}

Frame as_object(PyFrameObject* frame) {
  return py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(frame));  // NOLINT: CPython's inheritance
}

PyFrameObject* as_frame(const Frame& frame) { return reinterpret_cast<PyFrameObject*>(frame.ptr()); }

PyCodeObject* as_code(const py::object& code) { return reinterpret_cast<PyCodeObject*>(code.ptr()); }

/// Whether the code is a coroutine's or a generator's.
bool may_suspend(const py::object& code) {
  constexpr int kinds = CO_COROUTINE | CO_ITERABLE_COROUTINE | CO_ASYNC_GENERATOR | CO_GENERATOR;
  return (as_code(code)->co_flags & kinds) != 0;
}

/// Whether the frame, which runs that code, awaits the frame that it has called.
bool is_awaiting(const Frame& frame, const py::object& code) {
  constexpr std::size_t step = 2;  // counted in bytes
  const auto bytes = py::reinterpret_steal<py::object>(PyCode_GetCode(as_code(code)));
  const int last = PyFrame_GetLasti(as_frame(frame));
  if (!bytes || last < 0) {
    PyErr_Clear();
    return false;
  }
  const std::string_view text(PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(last) + 1);
  const auto at = [&](std::size_t place) { return static_cast<std::uint8_t>(text[place]); };
  std::size_t place = text.size() - 1;
  while (place >= step && at(place) == instructions().cache) place -= step;
  return at(place) == instructions().send;
}

}  // namespace

Frame caller_of(const Frame& frame) { return as_object(PyFrame_GetBack(as_frame(frame))); }

py::object code_of(const Frame& frame) {
  return py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(as_frame(frame))));
}

Frame driver_of_this_coroutine() {
  Frame frame = as_object(PyThreadState_GetFrame(PyThreadState_Get()));
  while (frame) {
    const py::object code = code_of(frame);
    if (!may_suspend(code)) {
      break;
    }
    frame = is_awaiting(frame, code) ? caller_of(frame) : Frame();
  }
  return frame;
}

}  // namespace pydoca::bindings

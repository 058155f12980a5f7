#include "convert/view.hpp"

#include <pydoca/status.hpp>

#include "convert/convert.hpp"

#include <exception>
#include <optional>
#include <string>

namespace pydoca::bindings {

namespace {

/// The name of the object's type, with a hint for the types that have one.
std::string not_a_buffer(py::handle object) {
  return format_text(
      "memory must have the buffer protocol (bytes, bytearray, a NumPy array, mmap.mmap, pydoca.alloc(n)), and "
      "{!r} does not",
      type_name(object));
}

/// Whether a buffer's format has references to objects. Names of fields are between colons.
bool has_references(std::string_view format) noexcept {
  bool in_name = false;
  for (const char sign : format) {
    in_name ^= sign == ':';
    if (!in_name && sign == 'O') return true;
  }
  return false;
}

bool has_references(const py::object& memory) {
  const py::object type = py::getattr(memory, "dtype", py::none());  // NumPy's
  if (py::bool_(py::getattr(type, "hasobject", py::bool_(false)))) return true;
  Py_buffer view{};
  if (PyObject_GetBuffer(memory.ptr(), &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();  // a date, say, has no format
    return false;
  }
  const bool found = view.format != nullptr && has_references(std::string_view(view.format));
  PyBuffer_Release(&view);
  return found;
}

/// Whether the interpreter exists. True also while it finalizes, although Python then says it is not initialized.
bool has_gil() noexcept {
  PyThreadState* const own = PyGILState_GetThisThreadState();
#if PY_VERSION_HEX >= 0x030D0000
  return own != nullptr && own == PyThreadState_GetUnchecked();
#else
  return own != nullptr && own == _PyThreadState_UncheckedGet();
#endif
}

/// Whether a thread without the GIL can take it.
bool can_take_gil() noexcept { return Py_IsInitialized() != 0 && !is_finalizing(); }

}  // namespace

HeldBuffer::HeldBuffer(py::handle object) {
  if (PyObject_CheckBuffer(object.ptr()) == 0) throw py::type_error(not_a_buffer(object));
  if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_C_CONTIGUOUS) == 0) return;
  py::error_already_set cause;
  if (!cause.matches(PyExc_BufferError) && !cause.matches(PyExc_ValueError)) throw cause;
  const auto why = py::str(cause.value()).cast<std::string>();
  raise(Status::invalid_value, "memory must be C-contiguous (numpy.ascontiguousarray makes it so): " + why);
}

std::shared_ptr<const HeldBuffer> HeldBuffer::of(py::handle object) {
  return {new HeldBuffer(object), [](HeldBuffer* held) { let_go(held); }};
}

std::shared_ptr<const HeldBuffer> HeldBuffer::of_values(py::handle object) {
  auto held = of(object);
  const bool is_plain = PyBytes_CheckExact(object.ptr()) != 0 || PyByteArray_CheckExact(object.ptr()) != 0;
  if (!is_plain && has_references(py::reinterpret_borrow<py::object>(object))) {
    raise(Status::invalid_value, "memory must have values: this " + type_name(object) +
                                     " has references to Python objects, which a device would overwrite; give an "
                                     "array of numbers or bytes");
  }
  return held;
}

void HeldBuffer::let_go(HeldBuffer* held) noexcept {
  std::optional<py::gil_scoped_acquire> gil;
  if (!has_gil()) {
    if (!can_take_gil()) return;  // the end of the process frees the memory
    gil.emplace();
  }
  const py::error_scope error;  // the release may run a destructor in Python
  PyBuffer_Release(&held->view_);
  delete held;
}

std::vector<std::byte> copy_of(py::handle buffer, std::string_view what) {
  if (PyObject_CheckBuffer(buffer.ptr()) == 0) {
    throw py::type_error(std::string(what) + " must be bytes, or any object with the buffer protocol, not " +
                         type_name(buffer));
  }
  const auto held = HeldBuffer::of(buffer);
  const auto* const bytes = static_cast<const std::byte*>(held->data());
  return {bytes, bytes + held->size()};
}

int fill_view(PyObject* exporter, Py_buffer* view, int flags, Bytes bytes) {
  auto owner = std::make_unique<std::shared_ptr<const void>>(std::move(bytes.owner));
  const auto size = static_cast<Py_ssize_t>(bytes.size);
  if (PyBuffer_FillInfo(view, exporter, bytes.data, size, bytes.readonly ? 1 : 0, flags) != 0) return -1;
  view->internal = owner.release();
  return 0;
}

void release_view(PyObject* /*exporter*/, Py_buffer* view) noexcept {
  delete static_cast<std::shared_ptr<const void>*>(view->internal);
}

namespace {

void set_error_of_exception() {
  try {
    throw;
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const Error& error) {
    const py::object exception = to_exception(error.status(), error.what());
    PyErr_SetObject(py::type::handle_of(exception).ptr(), exception.ptr());
  } catch (const py::builtin_exception& error) {
    error.set_error();
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

}  // namespace

void set_python_error() noexcept {
  try {
    set_error_of_exception();
  } catch (const std::exception&) {  // the exception found no memory
    PyErr_NoMemory();
  }
}

py::dict array_interface(const Bytes& bytes) {
  py::dict interface;
  interface["shape"] = py::make_tuple(bytes.size);
  interface["typestr"] = "|u1";
  interface["data"] = py::make_tuple(reinterpret_cast<std::uintptr_t>(bytes.data), bytes.readonly);
  interface["version"] = 3;
  return interface;
}

}  // namespace pydoca::bindings

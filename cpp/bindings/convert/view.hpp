/// Bytes as Python sees them. Output: the buffer protocol, __array_interface__ and DLPack. Input: any buffer.
#pragma once

#include "convert/pybind.hpp"

#include <pybind11/stl.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace pydoca::bindings {

/// The bytes of a view. Each view has a share of their owner.
struct Bytes {
  void* data = nullptr;
  std::size_t size = 0;
  bool readonly = false;
  std::shared_ptr<const void> owner;
};

/// The memory of a Python object with the buffer protocol, held until the last owner releases it. The release may come
/// from a thread without the GIL; it does nothing once the interpreter is gone.
class HeldBuffer : NotCopied {
 public:
  /// Throws TypeError for an object without the buffer protocol, invalid_value unless it is C-contiguous.
  static std::shared_ptr<const HeldBuffer> of(py::handle object);
  /// The same for memory that devices may write. Throws invalid_value also for references to objects.
  static std::shared_ptr<const HeldBuffer> of_values(py::handle object);

  void* data() const noexcept { return view_.buf; }
  std::size_t size() const noexcept { return static_cast<std::size_t>(view_.len); }
  bool readonly() const noexcept { return view_.readonly != 0; }

 private:
  explicit HeldBuffer(py::handle object);
  ~HeldBuffer() = default;
  static void let_go(HeldBuffer* held) noexcept;

  Py_buffer view_{};
};

/// Copies the bytes of any buffer: another thread may change the caller's bytes while the GIL is released. what names
/// the argument in errors.
std::vector<std::byte> copy_of(py::handle buffer, std::string_view what);

/// Fills view for exporter; for bf_getbuffer. Returns -1 with a Python error set.
int fill_view(PyObject* exporter, Py_buffer* view, int flags, Bytes bytes);
/// Releases a view that fill_view() filled; for bf_releasebuffer.
void release_view(PyObject* exporter, Py_buffer* view) noexcept;
/// Sets the Python error for the C++ exception that is being handled.
void set_python_error() noexcept;

py::dict array_interface(const Bytes& bytes);

/// The arguments of a DLPack consumer.
struct DlpackRequest {
  py::object stream;                               ///< must be None, because this is CPU memory
  std::optional<std::pair<int, int>> max_version;  ///< nullopt: the unversioned capsule
  std::optional<std::pair<int, int>> device;       ///< only (1, 0), the CPU, is supported
  bool copy = false;
};
/// A DLPack capsule. Throws BufferError when it cannot be made (read-only memory needs a versioned capsule).
py::capsule dlpack_capsule(Bytes bytes, const DlpackRequest& request);

template <class T>
int get_view(PyObject* self, Py_buffer* view, int flags) {
  try {
    return fill_view(self, view, flags, bytes_of(py::handle(self).cast<T&>()));
  } catch (...) {
    view->obj = nullptr;
    set_python_error();
    return -1;
  }
}

/// Adds the attributes that array libraries read, to a class with bytes_of(const T&). __array_interface__ gives out an
/// address as a number, which must stay valid as long as the object: pin(T&, owner) ensures that.
template <class Class>
void bind_array_protocols(Class& type) {
  using T = Class::type;
  type.def_property_readonly("__array_interface__", [](T& self) {
    const Bytes bytes = bytes_of(self);
    pin(self, bytes.owner);
    return array_interface(bytes);
  });
  type.def("__dlpack_device__", [](const T&) { return std::pair<int, int>(1, 0); });
  type.def(
      "__dlpack__",
      [](const T& self, py::object stream, std::optional<std::pair<int, int>> max_version,
         std::optional<std::pair<int, int>> device, std::optional<bool> copy) {
        return dlpack_capsule(bytes_of(self), {std::move(stream), max_version, device, copy.value_or(false)});
      },
      py::kw_only(), "stream"_a = py::none(), "max_version"_a = py::none(), "dl_device"_a = py::none(),
      "copy"_a = py::none(), "The bytes as a DLPack tensor of uint8 on the CPU, which keeps the memory alive.");
}

/// Adds the buffer protocol to a class with bytes_of(const T&); custom_type_setup calls it.
template <class T>
void set_view_slots(PyHeapTypeObject* type) {
  type->as_buffer.bf_getbuffer = get_view<T>;
  type->as_buffer.bf_releasebuffer = release_view;
  type->ht_type.tp_as_buffer = &type->as_buffer;
}

}  // namespace pydoca::bindings

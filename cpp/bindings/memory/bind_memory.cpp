#include <pydoca/memory.hpp>

#include "call/scope.hpp"
#include "convert/bindings.hpp"
#include "convert/convert.hpp"
#include "convert/items.hpp"
#include "convert/view.hpp"
#include "loop/blocking_call.hpp"

#include <memory>
#include <utility>

namespace pydoca::bindings {

namespace {

/// Python's Memory: one share of the engine's memory. Maps and views have shares of their own.
class MemoryObject {
 public:
  explicit MemoryObject(std::shared_ptr<Memory> memory) noexcept : memory_(std::move(memory)) {}

  const std::shared_ptr<Memory>& get() const {
    if (memory_ == nullptr) throw Error(Status::bad_state, "the memory is closed; allocate anew");
    return memory_;
  }
  bool is_open() const noexcept { return memory_ != nullptr; }
  void enter() const { static_cast<void>(get()); }
  void close() noexcept { memory_.reset(); }
  /// A pinned Memory has given out an address: close() keeps the memory until the object's end.
  void pin() { pinned_ = memory_; }

 private:
  std::shared_ptr<Memory> memory_;
  std::shared_ptr<Memory> pinned_;
};

Bytes bytes_of(const MemoryObject& self) {
  const std::shared_ptr<Memory>& memory = self.get();
  return {.data = memory->data(), .size = memory->size(), .readonly = false, .owner = memory};
}

void pin(MemoryObject& self, const std::shared_ptr<const void>& /*owner*/) { self.pin(); }

std::shared_ptr<MemoryObject> allocate(std::size_t size, bool huge_pages) {
  std::shared_ptr<Memory> memory;
  call_blocking(
      [&] { memory = Memory::allocate(size, {.huge_pages = huge_pages}); });  // the allocation faults the pages in
  return std::make_shared<MemoryObject>(std::move(memory));
}

std::size_t to_size(const py::object& value) {
  const py::int_ most(PY_SSIZE_T_MAX);
  const auto size = py::reinterpret_steal<py::int_>(PyNumber_Index(value.ptr()));
  if (!size) throw py::error_already_set();
  if (size < py::int_(1) || size > most) {
    raise(Status::invalid_value, format_text("alloc({}): size must be in 1..{}", size, most));
  }
  return size.cast<std::size_t>();
}

}  // namespace

void bind_memory(py::module_& module) {
  py::classh<MemoryObject> type(
      module, "Memory",
      "Memory that another process can be given without a copy: page-aligned, faulted in, zero-filled. It\n"
      "has the buffer protocol, writable. The memory is freed when the last map, view or object that has it\n"
      "ends.",
      py::custom_type_setup(set_view_slots<MemoryObject>));
  type.def_property_readonly(
          "addr", [](const MemoryObject& self) { return reinterpret_cast<std::uintptr_t>(self.get()->data()); },
          "The address of its first byte, in this process.")
      .def("__len__", [](const MemoryObject& self) { return self.get()->size(); })
      .def("close", &MemoryObject::close, "Releases this share of the memory; maps and views keep theirs. Idempotent.")
      .def("__repr__", [](const MemoryObject& self) -> py::str {
        if (!self.is_open()) return "<pydoca.Memory, closed>";
        return py::str("<pydoca.Memory of {} bytes at {:#x}>")
            .format(self.get()->size(), reinterpret_cast<std::uintptr_t>(self.get()->data()));
      });
  bind_scope(type);
  bind_items(type);
  bind_array_protocols(type);
  module.def(
      "alloc", [](const py::object& size, bool huge_pages) { return allocate(to_size(size), huge_pages); }, "size"_a,
      py::kw_only(), "huge_pages"_a = false,
      "Allocates size bytes, in pages of 2 MiB if requested. Raises InvalidValueError for a size of 0 or\n"
      "less, NoMemoryError when the system has too little memory.");
  made_by(module, "Memory", "alloc()");
}

}  // namespace pydoca::bindings

#include "memory/area.hpp"

#include "call/raw_method.hpp"
#include "convert/convert.hpp"
#include "memory/mmap_object.hpp"

#include <string>

namespace pydoca::bindings {

namespace {

bool is_mmap(PyObject* object) { return PyObject_TypeCheck(object, BoundType<MmapObject>::get()) != 0; }

Area area_of_map(PyObject* mmap, const char* name) {
  const std::shared_ptr<Mmap>& map = object_of<MmapObject>(mmap).get();
  require_started(*map, name);
  return {map, map->addr(), map->len()};
}

/// The view of an object's bytes, for as long as it takes to look at it: the map has the memory.
class Glance : NotCopied {
 public:
  Glance(PyObject* object, const char* name) {
    if (PyObject_GetBuffer(object, &view_, PyBUF_SIMPLE) == 0) return;
    const py::error_already_set error;
    const bool has_gaps = error.matches(PyExc_BufferError);  // a view that was released has no bytes at all
    raise(Status::invalid_value,
          format_text("{}: the {} does not give its bytes{}: {}{}", name, Py_TYPE(object)->tp_name,
                      has_gaps ? " in a row" : "", py::str(error.value()).cast<std::string>(),
                      has_gaps ? "; give contiguous memory" : ""));
  }
  ~Glance() { PyBuffer_Release(&view_); }

  std::uint64_t addr() const noexcept { return reinterpret_cast<std::uintptr_t>(view_.buf); }
  std::uint64_t len() const noexcept { return static_cast<std::uint64_t>(view_.len); }
  bool is_readonly() const noexcept { return view_.readonly != 0; }

 private:
  Py_buffer view_{};
};

}  // namespace

void require_started(const Mmap& map, std::string_view what) {
  if (!map.is_started()) [[unlikely]] {
    raise(Status::bad_state, format_text("{}: the {} is not started; start it first", what, map.describe()));
  }
}

bool is_memory(PyObject* object) noexcept { return PyObject_CheckBuffer(object) != 0; }

Area area_of(const py::object& memory, const Device& device, const char* name, bool is_written) {
  if (is_mmap(memory.ptr())) return area_of_map(memory.ptr(), name);
  const Glance glance(memory.ptr(), name);
  if (is_written && glance.is_readonly()) {
    raise(Status::invalid_value, format_text("{}: this {} is read-only; give memory that may be written", name,
                                             Py_TYPE(memory.ptr())->tp_name));
  }
  const MmapObject* const holder = MmapObject::find(device, glance.addr(), glance.len());
  if (holder == nullptr) {
    raise(Status::invalid_value, format_text("{}: no started map of the device has the {} bytes at {:#x} of this {}; "
                                             "make one with device.mmap()",
                                             name, glance.len(), glance.addr(), Py_TYPE(memory.ptr())->tp_name));
  }
  return {holder->get(), glance.addr(), glance.len()};
}

Buf& AreaBufs::get(const Area& area, bool is_data) {
  if (inventory_ == nullptr) [[unlikely]] {
    inventory_ = BufInventory::create(first_size);
    inventory_->start();
  }
  Buf* buf = nullptr;
  const auto take = [&] {
    return inventory_->get_by_args(area.mmap, area.addr, area.len, area.addr, is_data ? area.len : 0, buf);
  };
  Status status = take();
  if (status == Status::no_memory) [[unlikely]] {
    inventory_->expand(inventory_->num_elements());
    status = take();
  }
  if (status != Status::success) [[unlikely]] {
    const std::string why(area.len == 0 ? "give at least 1 byte" : error_descr(status));
    raise(status,
          format_text("get a buf of {} bytes at {:#x} of the {}: {}", area.len, area.addr, area.mmap->describe(), why));
  }
  return *buf;
}

}  // namespace pydoca::bindings

#include <pydoca/buf_inventory.hpp>

#include "call/raw_method.hpp"
#include "convert/bindings.hpp"
#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "memory/buf_object.hpp"
#include "memory/mmap_object.hpp"
#include "memory/source_object.hpp"

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace pydoca::bindings {

namespace {

/// The range of a buf (head and len) and its data section.
struct Range {
  std::uint64_t addr;
  std::uint64_t len;
  std::uint64_t data;
  std::uint64_t data_len;
};

/// The first limit that the range breaks.
std::string range_obstacle(const Mmap& mmap, const Range& range) {
  if (!mmap.contains(range.addr, 0)) return "the address is not in the " + mmap.describe();
  if (range.len == 0) return "a buf has at least 1 byte";
  if (!mmap.contains(range.addr, range.len)) {
    return format_text("from that address on, the {} has {} bytes", mmap.describe(),
                       mmap.addr() + mmap.len() - range.addr);
  }
  return "the data section does not lie within the buf";
}

std::string obstacle(Status status, const BufInventory& inventory, const Mmap& mmap, const Range& range) {
  switch (status) {
    case Status::bad_state:
      return inventory.is_started()          ? "the " + mmap.describe() + " is not started; start it first"
             : inventory.num_elements() == 0 ? "the inventory is closed; make another"
                                             : "the inventory is stopped; start it first";
    case Status::no_memory:
      return format_text("all {} elements of the inventory are out; release one, or expand()",
                         inventory.num_elements());
    case Status::invalid_value:
      return range_obstacle(mmap, range);
    default:
      return std::string(error_descr(status));
  }
}

[[noreturn]] void refuse(Status status, const BufInventory& inventory, const Mmap& mmap, const Range& range) {
  raise(status, format_text("get a buf of {} bytes at {:#x}, with {} bytes of data at {:#x}: {}", range.len, range.addr,
                            range.data_len, range.data, obstacle(status, inventory, mmap, range)));
}

MmapObject& to_mmap(PyObject* object) { return argument_of<MmapObject>(object, "a pydoca.Mmap"); }

PyObject* get(PyObject* self, PyObject* mmap, const Range& range) {
  BufInventory& inventory = *object_of<InventoryObject>(self).source;
  const std::shared_ptr<Mmap>& map = to_mmap(mmap).get();
  Buf* buf = nullptr;
  const Status status = inventory.get_by_args(map, range.addr, range.len, range.data, range.data_len, buf);
  if (status != Status::success) refuse(status, inventory, *map, range);
  return BufObject::make(*buf, self, mmap).release().ptr();
}

/// None, or no argument, means the map's start, and all bytes that follow.
std::pair<std::uint64_t, std::uint64_t> span_of(PyObject* mmap, PyObject* addr, PyObject* len) {
  const auto is_given = [](PyObject* value) { return value != nullptr && value != Py_None; };
  const Mmap& map = to_mmap(mmap).look();
  const std::uint64_t start = is_given(addr) ? to_u64(addr, "addr") : map.addr();
  if (is_given(len)) return {start, to_u64(len, "len")};
  return {start, map.contains(start, 0) ? map.addr() + map.len() - start : 0};
}

PyObject* get_by_args(PyObject* self, const std::array<PyObject*, 5>& given) {
  const auto [mmap, addr, len, data, data_len] = given;
  return get(self, mmap,
             {to_u64(addr, "addr"), to_u64(len, "len"), to_u64(data, "data"), to_u64(data_len, "data_len")});
}

PyObject* get_by_addr(PyObject* self, const std::array<PyObject*, 3>& given) {
  const auto [mmap, addr, len] = given;
  const auto [start, size] = span_of(mmap, addr, len);
  return get(self, mmap, {start, size, start, 0});
}

PyObject* get_by_data(PyObject* self, const std::array<PyObject*, 3>& given) {
  const auto [mmap, data, data_len] = given;
  const auto [start, size] = span_of(mmap, data, data_len);
  return get(self, mmap, {start, size, start, size});
}

std::span<PyMethodDef> getters() {
  static std::array methods{
      raw_method<"get_by_args($self, /, mmap, addr, len, data, data_len)", &get_by_args>(
          "A buf of len bytes at addr with the given data section. Addresses are ints; for an imported map, the\n"
          "exporter's addresses. Raises InvalidValueError for a range outside the map's, BadStateError unless\n"
          "inventory and map are started, NoMemoryError when no element is free."),
      raw_method<"get_by_addr($self, /, mmap, addr=None, len=None)", &get_by_addr>(
          "A buf with an empty data section: a destination. None means the map's start, and all bytes that\n"
          "follow. Raises the errors of get_by_args()."),
      raw_method<"get_by_data($self, /, mmap, data=None, data_len=None)", &get_by_data>(
          "A buf whose data section is all of it: a source. None means the map's start, and all bytes that\n"
          "follow. Raises the errors of get_by_args()."),
  };
  return methods;
}

std::shared_ptr<BufObject> dup(const py::object& self, const BufObject& source) {
  BufInventory& inventory = *self.cast<const InventoryObject&>().source;
  Buf* buf = nullptr;
  const Status status = inventory.dup(source.get(), buf);
  if (status == Status::success) return BufObject::adopt_copy(*buf, self, source);
  if (status == Status::no_memory) {
    raise(status, format_text("dup: {} of {} elements are free, too few for the list; release some, or expand()",
                              inventory.num_free_elements(), inventory.num_elements()));
  }
  if (status == Status::bad_state) raise(status, "dup: start the inventory, and the memory map, first");
  check_buf(status, source.get(), "dup");
  return nullptr;
}

std::size_t to_count(const py::object& value) { return to_u32(value, "num_elements", 1); }

std::shared_ptr<InventoryObject> new_inventory(const py::object& num_elements, bool start, py::object user_data) {
  auto self = std::make_shared<InventoryObject>();
  self->source = BufInventory::create(to_count(num_elements));
  self->user_data = std::move(user_data);
  if (start) self->source->start();
  return self;
}

void bind_getters(py::classh<InventoryObject>& type) {
  add_methods(type, getters());
  type.def("dup", &dup, "buf"_a,
           "A copy of every element of buf's list, with the same sections. Raises NotPermittedError on an inner\n"
           "element, NoMemoryError, BadStateError.");
}

void bind_inventory_life(py::classh<InventoryObject>& type) {
  type.def(py::init(&new_inventory), "num_elements"_a, py::kw_only(), "start"_a = true, "user_data"_a = py::none(),
           "Makes an inventory. Raises InvalidValueError for 0 elements, NoMemoryError.")
      .def(
          "expand", [](InventoryObject& self, const py::object& more) { self.source->expand(to_count(more)); },
          "num_elements"_a, "Adds elements. Raises BadStateError unless started.")
      .def("__repr__", [](const InventoryObject& self) {
        return py::str("<pydoca.BufInventory, {} of {} elements free, {}>")
            .format(self.source->num_free_elements(), self.source->num_elements(), self.state());
      });
}

}  // namespace

void bind_buf_inventory(py::module_& module) {
  py::classh<InventoryObject> type(module, "BufInventory",
                                   "A fixed number of buf descriptors, for any memory map. Only one thread may use it.",
                                   collectable<InventoryObject>());
  bind_source(type, "Stops the inventory: it gives no more bufs; those that are out stay valid.");
  bind_inventory_life(type);
  bind_getters(type);
}

}  // namespace pydoca::bindings

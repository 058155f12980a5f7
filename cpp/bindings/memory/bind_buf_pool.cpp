#include <pydoca/buf_pool.hpp>

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

std::string alloc_obstacle(Status status, const BufPool& pool) {
  if (status == Status::empty) return format_text("all {} elements are out; release one", pool.num_elements());
  if (status != Status::bad_state) return std::string(error_descr(status));
  return pool.is_started()          ? "the " + pool.mmap()->describe() + " is not started; start it first"
         : pool.num_elements() == 0 ? "the pool is closed; make another"
                                    : "the pool is stopped; start it first";
}

PyObject* alloc(PyObject* self) {
  const auto& object = object_of<PoolObject>(self);
  Buf* buf = nullptr;
  const Status status = object.source->alloc(buf);
  if (status != Status::success)
    raise(status, "allocate a buf of a buf pool: " + alloc_obstacle(status, *object.source));
  return BufObject::make(*buf, self, object.mmap).release().ptr();
}

std::span<PyMethodDef> pool_getters() {
  static std::array methods{
      raw_method<"alloc($self, /)", &alloc>(
          "Any free buf of the pool: all of an element, with an empty data section. Raises EmptyError when all are\n"
          "out, BadStateError unless pool and map are started (doca_buf_pool_buf_alloc)."),
  };
  return methods;
}

void set_alignment(PoolObject& self, const py::object& alignment) {
  self.source->set_element_alignment(to_u64(alignment, "element_alignment"));
}

std::shared_ptr<PoolObject> new_pool(const py::object& num_elements, const py::object& element_size, py::object mmap,
                                     const py::object& alignment, bool start, py::object user_data) {
  auto self = std::make_shared<PoolObject>();
  const std::size_t count = to_u32(num_elements, "num_elements", 1);
  const std::size_t size = to_u64(element_size, "element_size");
  self->source = BufPool::create(count, size, argument_of<MmapObject>(mmap.ptr(), "a pydoca.Mmap").get());
  self->mmap = std::move(mmap);
  self->user_data = std::move(user_data);
  set_alignment(*self, alignment);
  if (start) self->source->start();
  return self;
}

void bind_pool_settings(py::classh<PoolObject>& type) {
  type.def(py::init(&new_pool), "num_elements"_a, "element_size"_a, "mmap"_a, py::kw_only(), "element_alignment"_a = 1,
           "start"_a = true, "user_data"_a = py::none(),
           "Makes a pool of num_elements bufs of element_size bytes, one after another in mmap. Each begins at a\n"
           "multiple of element_alignment, a power of 2. Raises InvalidValueError for 0 elements or bytes and for\n"
           "another alignment, BadStateError unless the map is started, InitializationError when the map is too\n"
           "small, NoMemoryError (doca_buf_pool_create).")
      .def("set_element_alignment", &set_alignment, "element_alignment"_a,
           "Every element begins at a multiple of it; a power of 2, 1 at first. Raises InvalidValueError for\n"
           "another number, BadStateError while started (doca_buf_pool_set_element_alignment).")
      .def_property_readonly(
          "mmap", [](const PoolObject& self) { return self.mmap; }, "The map of its elements.")
      .def("__repr__", [](const PoolObject& self) {
        return py::str("<pydoca.BufPool, {} of {} elements of {} bytes free, {}>")
            .format(self.source->num_free_elements(), self.source->num_elements(), self.source->element_size(),
                    self.state());
      });
  const auto read = reader(type, &PoolObject::source);
  read("element_size", &BufPool::element_size, "Bytes of each buf.");
  read("element_alignment", &BufPool::element_alignment, "What the address of each buf is a multiple of, in bytes.");
}

}  // namespace

void bind_buf_pool(py::module_& module) {
  py::classh<PoolObject> type(
      module, "BufPool",
      "Bufs of equal size in one memory map, in elements that it gives and takes back. Only one\n"
      "thread may use it.",
      collectable<PoolObject>());
  bind_source(type, "Stops the pool: it gives no more bufs. Raises InUseError while a buf is out.");
  bind_pool_settings(type);
  add_methods(type, pool_getters());
}

}  // namespace pydoca::bindings

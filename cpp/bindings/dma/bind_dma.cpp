#include <pydoca/dma.hpp>

#include "batch/memcpy_many.hpp"
#include "convert/bindings.hpp"
#include "convert/parse.hpp"
#include "task/data_object.hpp"

#include <array>

namespace pydoca::bindings {

namespace {

using DmaTaskObject = DataTaskObject<DmaMemcpyTask, dma_memcpy, 0, true>;
using DmaObject = DataContextObject<Dma, DataKind<dma_memcpy, &Dma::set_memcpy_conf, &Dma::num_tasks, &Dma::memcpy>>;

std::span<PyMethodDef> dma_methods() {
  static std::array methods{
      task_method<dma_memcpy, &DmaObject::make<DmaTaskObject>, true>(
          "Allocates a task that copies src to dst, and submits it unless submit is false. Raises NoMemoryError\n"
          "when all num_tasks are allocated, BadStateError unless the context runs, InvalidValueError for bufs\n"
          "that cannot be copied, AgainError when the queue is full (doca_dma_task_memcpy).\n"
          "DOCA takes bufs only. This also takes memory: a started Mmap, which means all of it, or an object with\n"
          "the buffer protocol that lies in a started map of the device, such as a slice of memoryview(mmap) or an\n"
          "array that was mapped. Each submission then gets a buf, and its end gives it back; the map must\n"
          "run (BadStateError) and have the memory (InvalidValueError)."),
      memcpy_many_method(),
  };
  return methods;
}

void bind_memcpy_task(py::module_& module) {
  const py::classh<DmaTaskObject, LibraryTaskObject> type(
      module, "DmaMemcpyTask",
      "Copies src's data, in list order, to dst's tailrooms. On success dst's data_len grows by the copied\n"
      "length. On failure part of dst may have been written.");
  made_by(module, "DmaMemcpyTask", "Dma.memcpy()");
}

template <typename Class>
void bind_dma_capabilities(Class& type) {
  type.def_static("is_supported", &Dma::is_supported, "info"_a, "Whether the device has a copy engine.")
      .def_static("max_buf_size", &Dma::max_buf_size, "info"_a, "The most bytes per task.")
      .def_static("max_buf_list_len", &Dma::max_buf_list_len, "info"_a, "The most elements of a list; 1: no lists.")
      .def_static("max_num_tasks", &Dma::max_num_tasks, "info"_a, "The largest num_tasks.");
}

}  // namespace

void bind_dma(py::module_& module) {
  bind_memcpy_task(module);
  auto type = DmaObject::bind(module, "Dma", "The copy engine of a device.", dma_methods());
  type.def_property(
      "ordered_completions", [](const DmaObject& self) { return self.library().ordered_completions(); },
      [](DmaObject& self, const py::object& value) {
        self.require_thread("set ordered_completions");
        self.library().set_ordered_completions(to_bool(value, "ordered_completions"));
      },
      "Whether tasks complete in the order in which they were submitted; False at first, when a small copy may\n"
      "overtake a large one. Setting it raises BadStateError unless IDLE (doca_dma_set_ordered_completions).");
  bind_dma_capabilities(type);
}

}  // namespace pydoca::bindings

#include <pydoca/dma.hpp>

#include "call/keywords.hpp"
#include "convert/bindings.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "memory/buf_object.hpp"
#include "memory/mmap_object.hpp"
#include "task/library_task.hpp"

#include <array>
#include <utility>

namespace pydoca::bindings {

namespace py = pybind11;
using namespace py::literals;

namespace {

class DmaTaskObject final : public LibraryTaskObject {
 public:
  DmaTaskObject(py::object context, DmaMemcpyTask& slot) : LibraryTaskObject(std::move(context), slot, 0, dma_memcpy) {}

 protected:
  void set_operands() override {
    auto& task = static_cast<DmaMemcpyTask&>(*slot());
    static_cast<void>(task.set_src(element_of(operands().src)));
    static_cast<void>(task.set_dst(element_of(operands().dst)));
    LibraryTaskObject::set_operands();
  }
};

class DmaObject final : public ContextObject {
 public:
  DmaObject(py::object engine, const py::object& device, std::uint32_t num_tasks, ContextOptions options)
      : ContextObject(std::move(engine), device, create(device, num_tasks), std::move(options)) {}

  /// A new slot for a task, without operands.
  DmaMemcpyTask& new_slot() {
    auto& dma = static_cast<Dma&>(context());
    DmaMemcpyTask* slot = nullptr;
    const Status status = allocate_slot([&] { return dma.memcpy(nullptr, nullptr, 0, slot); });
    if (status != Status::success) refuse_task(status, 0, dma_memcpy.name);
    return *slot;
  }

 private:
  static std::shared_ptr<Dma> create(const py::object& device, std::uint32_t num_tasks) {
    auto dma = Dma::create(to_device(device).get());
    dma->set_memcpy_conf(TaskObject::on_complete, TaskObject::on_complete, num_tasks);
    return dma;
  }
};

py::object memcpy(PyObject* self, Operands operands, py::handle user_data, bool submit) {
  operands.require_types();
  return make_task<DmaTaskObject, DmaObject>(self, 0, std::move(operands), user_data, submit,
                                             [](DmaObject& dma) -> DmaMemcpyTask& { return dma.new_slot(); });
}

std::span<PyMethodDef> dma_methods() {
  static std::array methods{raw_method(
      "memcpy", &task_method<dma_memcpy, &memcpy>,
      "memcpy($self, /, src, dst, *, user_data=None, submit=True)\n--\n\n"
      "Allocates a task that copies src to dst, and submits it unless submit is false. Raises NoMemoryError\n"
      "when all num_tasks are allocated, BadStateError unless the context runs, InvalidValueError for bufs\n"
      "that cannot be copied, AgainError when the queue is full (doca_dma_task_memcpy).")};
  return methods;
}

void bind_memcpy_task(py::module_& module) {
  py::classh<DmaTaskObject, LibraryTaskObject>(
      module, "DmaMemcpyTask",
      "Copies src's data, in list order, to dst's tailrooms. On success dst's data_len grows by the copied\n"
      "length. On failure part of dst may have been written.");
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
  py::classh<DmaObject, ContextObject> type(module, "Dma", "The copy engine of a device.");
  const auto create = [](py::object pe, const py::object& dev, const py::object& num_tasks, const py::kwargs& options) {
    return std::make_unique<DmaObject>(std::move(pe), dev, to_u32(num_tasks, "num_tasks"), ContextOptions::of(options));
  };
  type.def(py::init(create), "pe"_a, "dev"_a, py::kw_only(), "num_tasks"_a = 32,
           signature({"pe, dev, *, num_tasks=32", ContextOptions::keywords}).c_str());
  add_methods(type, dma_methods());
  bind_dma_capabilities(type);
}

}  // namespace pydoca::bindings

#include <pydoca/mmap_advise.hpp>

#include "convert/bindings.hpp"
#include "task/data_object.hpp"

#include <array>

namespace pydoca::bindings {

namespace {

using InvalidateTaskObject = DataTaskObject<MmapAdviseInvalidateCacheTask, mmap_advise_invalidate_cache>;
using MmapAdviseObject =
    DataContextObject<MmapAdvise, DataKind<mmap_advise_invalidate_cache, &MmapAdvise::set_invalidate_cache_conf,
                                           &MmapAdvise::num_tasks, &MmapAdvise::invalidate_cache>>;

std::span<PyMethodDef> advise_methods() {
  static std::array methods{task_method<mmap_advise_invalidate_cache, &MmapAdviseObject::make<InvalidateTaskObject>>(
      "Allocates a task that drops the data of buf from the caches of the DPU, and submits it unless submit\n"
      "is false. Raises NoMemoryError when all num_tasks are allocated, BadStateError unless the context runs,\n"
      "InvalidValueError for a list, a buf without data or in memory of another process, AgainError when the\n"
      "queue is full (doca_mmap_advise_task_invalidate_cache).")};
  return methods;
}

void bind_invalidate_task(py::module_& module) {
  // Without LibraryTask, whose src and dst it does not have.
  py::classh<InvalidateTaskObject, TaskObject> type(
      module, "MmapAdviseInvalidateCacheTask",
      "Drops the data of buf from the caches of the DPU, so that the next access reads memory. What the caches\n"
      "have changed is written back first.");
  bind_operand(type, mmap_advise_operands[0],
               "The Buf, None once the task is freed. Setting it raises InUseError in flight.");
  made_by(module, "MmapAdviseInvalidateCacheTask", "MmapAdvise.invalidate_cache()");
}

template <typename Class>
void bind_advise_capabilities(Class& type) {
  type.def_static("is_supported", &MmapAdvise::is_supported, "info"_a, "Whether the device invalidates its cache.")
      .def_static("max_buf_size", &MmapAdvise::max_buf_size, "info"_a, "The most bytes per task.")
      .def_static("max_num_tasks", &MmapAdvise::max_num_tasks, "info"_a, "The largest num_tasks.");
}

}  // namespace

void bind_mmap_advise(py::module_& module) {
  bind_invalidate_task(module);
  auto type =
      MmapAdviseObject::bind(module, "MmapAdvise", "Advice about the memory of a DPU: its caches may be invalidated.",
                             advise_methods(), "NotPermittedError");
  bind_advise_capabilities(type);
}

}  // namespace pydoca::bindings

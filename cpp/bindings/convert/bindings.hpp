/// One function per public header of the engine. module.cpp calls them in this order: a type is bound before its users.
#pragma once

#include <pybind11/pybind11.h>

namespace pydoca::bindings {

void bind_status(pybind11::module_& module);
void bind_python(pybind11::module_& module);
void bind_log(pybind11::module_& module);
void bind_types(pybind11::module_& module);
void bind_capabilities(pybind11::module_& module);
void bind_device(pybind11::module_& module);
void bind_representor(pybind11::module_& module);
void bind_memory(pybind11::module_& module);
void bind_mmap(pybind11::module_& module);
void bind_buf(pybind11::module_& module);
void bind_buf_inventory(pybind11::module_& module);
void bind_awaitable(pybind11::module_& module);
void bind_task(pybind11::module_& module);
void bind_context(pybind11::module_& module);
void bind_progress_engine(pybind11::module_& module);
void bind_dma(pybind11::module_& module);
void bind_sha(pybind11::module_& module);
void bind_sync_event_remote_net(pybind11::module_& module);
void bind_sync_event(pybind11::module_& module);
void bind_sync_event_context(pybind11::module_& module);
void bind_rdma(pybind11::module_& module);
void bind_rdma_bridge(pybind11::module_& module);
void bind_comch(pybind11::module_& module);
void bind_sim(pybind11::module_& module);

}  // namespace pydoca::bindings

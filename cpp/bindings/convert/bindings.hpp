/// One function per public header of the engine.
#pragma once

#include "convert/pybind.hpp"

#include <array>
#include <string>

namespace pydoca::bindings {

void bind_status(py::module_& module);
void bind_python(py::module_& module);
void bind_log(py::module_& module);
void bind_types(py::module_& module);
void bind_capabilities(py::module_& module);
void bind_device(py::module_& module);
void bind_clock(py::module_& module);
void bind_representor(py::module_& module);
void bind_memory(py::module_& module);
void bind_mmap(py::module_& module);
void bind_buf(py::module_& module);
void bind_buf_inventory(py::module_& module);
void bind_buf_pool(py::module_& module);
void bind_awaitable(py::module_& module);
void bind_task(py::module_& module);
void bind_context(py::module_& module);
void bind_progress_engine(py::module_& module);
void bind_gather(py::module_& module);
void bind_future(py::module_& module);
void bind_dma(py::module_& module);
void bind_dma_batch(py::module_& module);
void bind_dpa(py::module_& module);
void bind_sha(py::module_& module);
void bind_compress(py::module_& module);
void bind_mmap_advise(py::module_& module);
void bind_sync_event_remote_net(py::module_& module);
void bind_sync_event(py::module_& module);
void bind_sync_event_context(py::module_& module);
void bind_rdma(py::module_& module);
void bind_rdma_bridge(py::module_& module);
void bind_import(py::module_& module);
void bind_graph(py::module_& module);
void bind_job_ledger(py::module_& module);
void bind_comch(py::module_& module);
void bind_sim(py::module_& module);
void bind_virtual_time(py::module_& module);
void bind_timing(py::module_& module);
void bind_faults(py::module_& module);
void bind_trace(py::module_& module);
/// module.cpp calls them in this order, which binds a type before its users.
inline constexpr std::array all{&bind_status,
                                &bind_python,
                                &bind_log,
                                &bind_types,
                                &bind_capabilities,
                                &bind_device,
                                &bind_clock,
                                &bind_representor,
                                &bind_memory,
                                &bind_mmap,
                                &bind_buf,
                                &bind_buf_inventory,
                                &bind_buf_pool,
                                &bind_sync_event_remote_net,
                                &bind_dpa,
                                &bind_awaitable,
                                &bind_task,
                                &bind_context,
                                &bind_progress_engine,
                                &bind_gather,
                                &bind_future,
                                &bind_dma_batch,
                                &bind_dma,
                                &bind_sha,
                                &bind_compress,
                                &bind_mmap_advise,
                                &bind_sync_event,
                                &bind_sync_event_context,
                                &bind_comch,
                                &bind_rdma,
                                &bind_import,
                                &bind_rdma_bridge,
                                &bind_graph,
                                &bind_job_ledger,
                                &bind_sim,
                                &bind_virtual_time,
                                &bind_timing,
                                &bind_faults,
                                &bind_trace};

/// A class that programs do not call: the error of a call names what makes such an object.
void made_by(py::module_& module, const char* name, const std::string& call);
/// The same of a class from which libraries derive theirs: the error names the first library's, as an example. Call it
/// once they are bound.
void made_by_libraries(py::module_& module, const char* name);
/// Gives all classes of awaitables their warning. Call it once they are bound.
void bind_never_awaited(py::module_& module);
// Let asyncio drive these classes as coroutines. Call them once the classes are bound.
void bind_event_drives(const py::module_& module);
void bind_task_drives(const py::module_& module);

}  // namespace pydoca::bindings

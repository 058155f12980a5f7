#include <pydoca/version.hpp>

#include "call/method.hpp"
#include "call/require_init.hpp"
#include "convert/bindings.hpp"
#include "loop/blocking_call.hpp"

namespace {

/// The level at which the C library checks its calls (_FORTIFY_SOURCE); 0 where the compiler does not check.
#ifdef __USE_FORTIFY_LEVEL
constexpr int fortify_level = __USE_FORTIFY_LEVEL;
#else
constexpr int fortify_level = 0;
#endif

void bind_version(pybind11::module_& module) {
  module.def("version", &pydoca::version,
             "The version with which the bindings were compiled, such as \"0.1.0\" (doca_version).");
  module.def("version_runtime", &pydoca::version_runtime,
             "The version of the engine that runs. It is that of version(), and pydoca.__version__: the wheel\n"
             "contains both (doca_version_runtime).");
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The engine's Python bindings. Private: pydoca has the public names.";
  module.attr("__version__") = pydoca::version_runtime();
  module.attr("__fortify_level__") = fortify_level;
  bind_version(module);
  pydoca::bindings::install_interrupt_check();
  pydoca::bindings::bind_status(module);
  pydoca::bindings::bind_python(module);
  pydoca::bindings::bind_log(module);
  pydoca::bindings::bind_types(module);
  pydoca::bindings::bind_capabilities(module);
  pydoca::bindings::bind_device(module);
  pydoca::bindings::bind_clock(module);
  pydoca::bindings::bind_representor(module);
  pydoca::bindings::bind_memory(module);
  pydoca::bindings::bind_mmap(module);
  pydoca::bindings::bind_buf(module);
  pydoca::bindings::bind_buf_inventory(module);
  pydoca::bindings::bind_buf_pool(module);
  pydoca::bindings::bind_sync_event_remote_net(module);
  pydoca::bindings::bind_dpa(module);
  pydoca::bindings::bind_awaitable(module);
  pydoca::bindings::bind_task(module);
  pydoca::bindings::bind_context(module);
  pydoca::bindings::bind_progress_engine(module);
  pydoca::bindings::bind_gather(module);
  pydoca::bindings::bind_dma(module);
  pydoca::bindings::bind_sha(module);
  pydoca::bindings::bind_mmap_advise(module);
  pydoca::bindings::bind_sync_event(module);
  pydoca::bindings::bind_sync_event_context(module);
  pydoca::bindings::bind_comch(module);
  pydoca::bindings::bind_rdma(module);
  pydoca::bindings::bind_import(module);
  pydoca::bindings::bind_rdma_bridge(module);
  pydoca::bindings::bind_graph(module);
  pydoca::bindings::bind_job_ledger(module);
  pydoca::bindings::bind_sim(module);
  pydoca::bindings::bind_virtual_time(module);
  pydoca::bindings::bind_timing(module);
  pydoca::bindings::bind_faults(module);
  pydoca::bindings::bind_trace(module);
  pydoca::bindings::bind_never_awaited(module);
  pydoca::bindings::require_init(module);
  module.def("publish", &pydoca::bindings::publish, pybind11::arg("object"), pybind11::arg("module_name"));
  module.def("add_types", &pydoca::bindings::add_types, pybind11::arg("type"), pybind11::arg("name"),
             pybind11::arg("types"));
  pydoca::bindings::present_methods(module);
}

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
  for (const auto bind : pydoca::bindings::all) bind(module);
  for (const char* base : {"Context", "Task"}) pydoca::bindings::made_by_libraries(module, base);
  pydoca::bindings::bind_never_awaited(module);
  pydoca::bindings::bind_event_drives(module);
  pydoca::bindings::bind_task_drives(module);
  pydoca::bindings::require_init(module);
  module.def("publish", &pydoca::bindings::publish, pybind11::arg("object"), pybind11::arg("module_name"));
  pydoca::bindings::present_methods(module);
}

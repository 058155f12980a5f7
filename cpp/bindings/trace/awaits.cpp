#include "trace/awaits.hpp"

#include "loop/coroutine_stack.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace pydoca::bindings {

namespace {

/// The names that the present recording has, by code and line. A code object is kept, so that no other one gets its
/// address. Guarded by the GIL; never destroyed, as Python has ended when static destructors run.
struct Names {
  std::uint32_t generation = 0;
  std::map<std::pair<PyObject*, int>, std::uint32_t> by_place;
  py::list codes;

  static Names& present() {
    static auto* const names = new Names;
    if (names->generation != trace::generation()) {
      names->generation = trace::generation();
      names->by_place.clear();
      names->codes = py::list();
    }
    return *names;
  }
};

PyFrameObject* native(const Frame& frame) { return reinterpret_cast<PyFrameObject*>(frame.ptr()); }

std::string module_of(const Frame& frame) {
  const auto globals = py::reinterpret_steal<py::dict>(PyFrame_GetGlobals(native(frame)));
  const auto name = globals.attr("get")("__name__", "");
  return py::isinstance<py::str>(name) ? name.cast<std::string>() : "";
}

/// Whether it is a module whose coroutines wait for their caller. The command line's modules are programs like any
/// other.
bool is_between(std::string_view module) {
  const bool of_pydoca = module == "pydoca" || module.starts_with("pydoca.");
  return (of_pydoca && !module.starts_with("pydoca.cli.")) || module == "contextlib" || module.starts_with("asyncio.");
}

std::uint32_t name_of_place(const Frame& frame, const std::string& module) {
  Names& names = Names::present();
  const py::object code = code_of(frame);
  const int line = PyFrame_GetLineNumber(native(frame));
  const auto known = names.by_place.find({code.ptr(), line});
  if (known != names.by_place.end()) {
    return known->second;
  }
  const auto text = module + "." + code.attr("co_qualname").cast<std::string>() + ":" + std::to_string(line);
  names.codes.append(code);
  return names.by_place[{code.ptr(), line}] = trace::add_name(TraceNameKind::coroutine, text);
}

std::uint32_t name_of_caller() {
  auto frame = py::reinterpret_borrow<Frame>(reinterpret_cast<PyObject*>(PyEval_GetFrame()));
  for (; frame; frame = caller_of(frame)) {
    const std::string module = module_of(frame);
    if (!is_between(module)) {
      return name_of_place(frame, module);
    }
  }
  return 0;
}

}  // namespace

TracedWait begin_traced_wait() noexcept {
  try {
    const py::error_scope kept;  // an await may begin while an exception is handled
    const std::uint32_t coroutine = name_of_caller();
    return {trace::now(), coroutine};
  } catch (...) {  // a name that cannot be made must not end the await
    return {};
  }
}

void end_traced_wait(const TracedWait& wait, std::uint64_t id) noexcept {
  if (trace::is_on()) {
    trace::record_await(wait.coroutine, wait.begin, id);
  }
}

}  // namespace pydoca::bindings

#include <pydoca/turn_points.hpp>
#include <pydoca/virtual_time.hpp>

#include "convert/bindings.hpp"
#include "convert/pybind.hpp"
#include "loop/blocking_call.hpp"

#include <pybind11/native_enum.h>
#include <pybind11/stl.h>

#include <chrono>
#include <memory>
#include <optional>

namespace pydoca::bindings {

namespace {

using Nanoseconds = std::chrono::nanoseconds;
using sim::VirtualTime;
using sim::Wake;

/// The virtual time of the process.
std::unique_ptr<VirtualTime>& virtual_time() {
  static auto* const time = new std::unique_ptr<VirtualTime>;
  return *time;
}

void begin_with(std::uint64_t seed, double outside) {
  const auto patience = std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(outside));
  if (!VirtualTime::is_on()) {
    virtual_time().reset();  // the parent's, in a forked child
  }
  virtual_time() = std::make_unique<VirtualTime>(sim::VirtualTimeOptions{.seed = seed, .outside = patience});
}

Wake wait_until(int fd, const std::optional<std::int64_t>& until) {
  Wake wake{};
  call_blocking([&] { wake = VirtualTime::wait(fd, until ? Nanoseconds(*until) : Nanoseconds::max()); });
  return wake;
}

Wake take_part() {
  Wake wake{};
  call_blocking([&] { wake = VirtualTime::join(); });
  return wake;
}

#ifdef PYDOCA_CRASH_POINTS
void* let_gil_go() noexcept { return PyGILState_Check() != 0 ? PyEval_SaveThread() : nullptr; }
void take_gil_back(void* state) noexcept {
  if (state != nullptr) {
    PyEval_RestoreThread(static_cast<PyThreadState*>(state));
  }
}

void bind_turn_points(py::module_& module) {
  static constexpr sim::TurnHold gil{.let_go = let_gil_go, .take_back = take_gil_back};
  module.def("give_way_at_turn_points", [](bool on) { sim::give_way_at_turn_points(on ? &gil : nullptr); }, "on"_a);
  module.def("plant", &sim::plant, "mistake"_a);
}
#else
void bind_turn_points(py::module_& /*module*/) {}
#endif

}  // namespace

void bind_virtual_time(py::module_& module) {
  py::native_enum<Wake>(module, "Wake", "enum.Enum", "What ended a wait by virtual time.")
      .value("READY", Wake::ready)
      .value("DUE", Wake::due)
      .value("INTERRUPTED", Wake::interrupted)
      .value("STUCK", Wake::stuck)
      .value("ENDED", Wake::ended)
      .finalize();
  module.def("virtual_time_begin", &begin_with, "seed"_a, "outside"_a);
  module.def("virtual_time_end", [] { virtual_time().reset(); });
  module.def("virtual_time_is_on", &VirtualTime::is_on);
  module.def("virtual_time_now", [] { return VirtualTime::now().count(); });
  module.def("virtual_time_wait", &wait_until, "fd"_a, "until"_a);
  module.def("virtual_time_join", &take_part);
  module.def("virtual_time_leave", [] { call_blocking([] { VirtualTime::leave(); }); });
  module.def("virtual_time_num_threads", &VirtualTime::num_threads);
  module.def("virtual_time_digest", &VirtualTime::digest);
  bind_turn_points(module);
}

}  // namespace pydoca::bindings

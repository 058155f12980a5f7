#include <pydoca/trace.hpp>

#include "call/scope.hpp"
#include "convert/bindings.hpp"
#include "convert/convert.hpp"
#include "loop/blocking_call.hpp"
#include "trace/awaits.hpp"

#include <memory>
#include <utility>

namespace pydoca::bindings {

namespace {

/// Another process may have written it.
py::str text_of(const std::string& bytes) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "replace"));
}

class Recording final : NotCopied {
 public:
  Recording(std::uint32_t events_per_thread, bool fabric) {
    call_blocking([&] { trace_ = Trace::start({.events_per_thread = events_per_thread, .fabric = fabric}); });
  }
  ~Recording() {
    call_blocking([&] { trace_.reset(); }, Signals::pending);
  }

  void stop() {
    call_blocking([&] { trace_->stop(); });
  }
  const Trace& trace() const noexcept { return *trace_; }

  py::list processes() const {
    py::list all;
    for (const TraceProcess& process : trace_->processes()) {
      py::list names;
      for (const TraceName& name : process.names) {
        names.append(py::make_tuple(static_cast<std::uint16_t>(name.kind), name.parent, text_of(name.text)));
      }
      py::list threads;
      for (const TraceThread& thread : process.threads) {
        threads.append(py::make_tuple(thread.id, text_of(thread.name)));
      }
      all.append(py::make_tuple(process.id, text_of(process.name), names, threads, process.lost));
    }
    return all;
  }

  py::list events() const {
    py::list all(trace_->events().size());
    std::size_t place = 0;
    for (const TraceEvent& event : trace_->events()) {
      all[place++] = py::make_tuple(static_cast<std::uint8_t>(event.kind), event.time, event.duration, event.id,
                                    event.value, event.bytes, event.process, event.thread, event.subject, event.task,
                                    event.previous, static_cast<std::uint32_t>(event.status));
    }
    return all;
  }

 private:
  std::shared_ptr<Trace> trace_;
};

void bind_awaits(py::module_& module) {
  module.def(
      "begin_wait",
      []() -> py::object {
        if (!trace::is_on()) {
          return py::none();
        }
        const TracedWait wait = begin_traced_wait();
        return py::make_tuple(wait.begin, wait.coroutine);
      },
      "None unless a trace runs.");
  module.def(
      "end_wait",
      [](std::uint64_t begin, std::uint32_t coroutine) {
        if (begin != 0) end_traced_wait({begin, coroutine}, 0);
      },
      "begin"_a, "coroutine"_a, "With what begin_wait() gave.");
}

}  // namespace

void bind_trace(py::module_& module) {
  py::classh<Recording>(module, "Recording", "The engine's part of a trace.")
      .def(py::init<std::uint32_t, bool>(), "events_per_thread"_a, "fabric"_a)
      .def("stop", &Recording::stop)
      .def("processes", &Recording::processes)
      .def("events", &Recording::events)
      .def_property_readonly("begin", [](const Recording& self) { return self.trace().begin(); })
      .def_property_readonly("end", [](const Recording& self) { return self.trace().end(); })
      .def_property_readonly("lost", [](const Recording& self) { return self.trace().lost(); });
  bind_awaits(module);
}

}  // namespace pydoca::bindings

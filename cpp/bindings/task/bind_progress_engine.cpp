#include <pydoca/progress_engine.hpp>

#include "call/raw_method.hpp"
#include "call/reader.hpp"
#include "convert/bindings.hpp"
#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "engine/awaitable.hpp"
#include "engine/engine_object.hpp"
#include "task/context_object.hpp"
#include "task/quarantine.hpp"
#include "task/task_object.hpp"
#include "task/unseen_failures.hpp"

#include <pybind11/native_enum.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

namespace pydoca::bindings {

namespace {

using Timeout = std::optional<double>;

void block_until_true(EngineObject& self, const py::object& done, Timeout timeout, const std::string& what) {
  block_until(self, [&] { return py::bool_(done()).cast<bool>(); }, timeout, [&] { return what; });
}

/// A look may find a message of several that wait; each of the next looks finds more.
std::size_t drain(EngineObject& self, std::size_t max) {
  std::size_t count = 0;
  for (std::size_t got = 1; got != 0 && count < max; count += got) got = self.drain(max - count);
  return count;
}

std::uint64_t wait_and_progress(EngineObject& self, Timeout timeout) {
  const std::uint64_t before = self.advanced();
  block_until(self, [&] { return self.advanced() != before; }, timeout, [] { return "wait for the engine"; });
  return self.advanced() - before;
}

void submit_threadsafe(const EngineObject& self, TaskObject& task) {
  if (&task.engine() != &self) {
    raise(Status::invalid_value, "submit_threadsafe " + task.describe() + ": it belongs to another progress engine");
  }
  task.submit_threadsafe();
}

py::list contexts_of(const EngineObject& self) {
  py::list list;
  for (ContextObject* const context : self.contexts()) list.append(context->self());
  return list;
}

/// The snapshots for displays: at most max_contexts contexts, oldest first, with at most max_tasks tasks in flight
/// together.
py::list snapshots_of(const EngineObject& self, std::size_t max_contexts, std::size_t max_tasks) {
  py::list list;
  for (const ContextObject* const context : self.contexts()) {
    if (list.size() == max_contexts) break;
    const py::tuple snapshot = context->snapshot(max_tasks);
    max_tasks -= py::len(snapshot[snapshot.size() - 1]);
    list.append(snapshot);
  }
  return list;
}

/// For the interpreter's end: every engine of this thread waits until the devices have released memory, for a bounded
/// time.
void end_all() noexcept {
  constexpr double limit = 2;
  const auto begin = EngineObject::Clock::now();
  for (EngineObject* const engine : std::vector(EngineObject::all())) {
    ProgressEngine& its = engine->engine();
    const auto is_quiet = [&] { return its.num_inflight_tasks() == 0; };
    if (engine->is_closed() || its.check_thread() != Status::success || is_quiet()) continue;
    const double left = limit - std::chrono::duration<double>(EngineObject::Clock::now() - begin).count();
    try {
      const py::object self = py::cast(engine);
      for (const py::handle& context : contexts_of(*engine)) static_cast<void>(context.cast<ContextObject&>().stop());
      block_until(*engine, is_quiet, std::max(left, 0.0), [] { return "exit"; });
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("pydoca at exit");
    }
  }
  Unseen::report_all();
}

std::string engine_repr(const EngineObject& self) {
  if (self.is_closed()) return "<pydoca.ProgressEngine, closed>";
  const ProgressEngine& engine = self.engine();
  return "<pydoca.ProgressEngine of " + std::to_string(engine.num_contexts()) + " context(s), " +
         std::to_string(engine.num_inflight_tasks()) + " task(s) in flight>";
}

void bind_mode(py::module_& module) {
  py::native_enum<EventMode>(module, "EventMode", "enum.IntEnum", "How to use the notification handle.")
      .value("PROGRESS_SELECTIVE", EventMode::progress_selective, "Clear the notification after each wake-up.")
      .value("PROGRESS_ALL", EventMode::progress_all, "A request clears the notification.")
      .finalize();
}

template <typename Class>
void bind_progress(Class& type) {
  type.def("progress", &EngineObject::progress,
           "Delivers at most one completion or event, and calls its callbacks. Returns whether there was one.\n"
           "Never blocks.")
      .def("drain", &drain, "max"_a = 256, "Delivers up to max completions and events, and returns how many.")
      .def("wait", wait_and_progress, "timeout"_a = py::none(),
           "Sleeps until something can be progressed, progresses it, and returns how many completions and events\n"
           "it delivered (1 or more). timeout in seconds, None for no limit; raises TimeOutError.")
      .def("submit_threadsafe", submit_threadsafe, "task"_a,
           "Queues a task from any thread. Make the task with submit=False. The engine wakes, and its own next\n"
           "progress submits the task as try_submit does. A submission that fails becomes the task's failed\n"
           "completion. Raises BadStateError for a task in flight or freed, InvalidValueError for a task of\n"
           "another engine.");
}

template <typename Class>
void bind_notification(Class& type) {
  const auto handle = [](const EngineObject& self) {
    self.require_open("notification handle");
    return self.engine().notification_handle();
  };
  const auto request = [](EngineObject& self) {
    self.require_open("request_notification");
    self.engine().request_notification();
  };
  const auto clear = [](EngineObject& self) {
    self.require_open("clear_notification");
    self.engine().clear_notification();
    self.turn().kick();
  };
  const auto set_mode = [](EngineObject& self, const py::object& mode) {
    if (!py::isinstance<EventMode>(mode)) refuse_type("event_mode", "a pydoca.EventMode", mode);
    self.require_progressable("set event_mode");
    self.engine().set_event_mode(mode.cast<EventMode>());
  };
  type.def("fileno", handle,
           "The descriptor for select, epoll and event loops: readable once it is armed and something is\n"
           "pending.")
      .def_property_readonly("notification_handle", handle,
                             "The descriptor that fileno() gives (doca_pe_get_notification_handle).")
      .def("request_notification", request, "Arms the handle. When something is pending, it is readable at once.")
      .def("clear_notification", clear, "Disarms the handle and makes it unreadable.")
      .def_property(
          "event_mode", [](const EngineObject& self) { return self.engine().event_mode(); }, set_mode,
          "The EventMode of fileno(). Setting it raises BadStateError in a callback.");
}

template <typename Class>
void bind_engine_life(Class& type) {
  type.def(
          "connect", [](py::object self, ContextObject& context) { context.connect(std::move(self)); }, "context"_a,
          "Connects a context that was made without an engine (pe=None), for life. Raises BadStateError unless it is\n"
          "IDLE, NotPermittedError when it has an engine (doca_pe_connect_ctx).")
      .def("release_thread", &EngineObject::release_thread,
           "Releases the engine from its thread and event loop, so that another can use it. Raises InUseError\n"
           "with tasks in flight.")
      .def("close", &EngineObject::close,
           "Closes the engine for good; idempotent. Raises InUseError while contexts are open.")
      .def_property_readonly("closed", &EngineObject::is_closed, "Whether it is closed for good.")
      .def("__enter__", [](const py::object& self) {
        self.cast<EngineObject&>().require_open("with");
        return self;
      });
}

/// An event loop calls these: for a turn that is due, or because the engine's handle woke it.
template <bool woken>
void turn(PyObject* self) {
  auto& engine = object_of<EngineObject>(self);
  // When a turn is due too, the loop runs that turn instead.
  if (!woken || !engine.turn().is_due()) engine.run_turn(woken);
}

std::span<PyMethodDef> turns() {
  static std::array methods{
      raw_method<"_turn($self, /)", &turn<false>>("Runs the event loop's turn for the engine."),
      raw_method<"_ready($self, /)", &turn<true>>("Handles that the engine's handle is readable."),
  };
  return methods;
}

template <typename Class>
void bind_inside(Class& type) {
  const auto counts = [](const EngineObject& self) -> py::object {
    const EngineStats stats = self.engine().stats();
    return to_tuple(stats.tasks) + py::make_tuple(stats.sleeps, stats.wake_ups, stats.vain_looks);
  };
  type.def_property_readonly("_bridge", &EngineObject::bridge)
      .def("_counts", counts)
      .def("_contexts", &contexts_of)
      .def("_snapshot", &snapshots_of, "max_contexts"_a, "max_tasks"_a)
      .def("_require_open", &EngineObject::require_open, "what"_a)
      .def("_block_until", block_until_true, "done"_a, "timeout"_a, "what"_a)
      .def("_is_forked", &EngineObject::is_forked)
      .def(
          "_look", [](EngineObject& self) { return self.look(SIZE_MAX); },
          "Delivers the completions and events that are there now, as a turn of the loop does.")
      .def(
          "_progress_until",
          [](EngineObject& self, const TaskObject& task) {
            self.turn().begin();
            return self.turn().progress_until(task.completions());
          },
          "task"_a, "Whether task has completed within the rest of the turn's time budget.")
      .def("_entered_loop", &EngineObject::enter_loop, "loop"_a)
      .def("_left_loop", [](EngineObject& self) { self.turn().left_loop(); })
      .def("_kick", [](EngineObject& self) { self.turn().kick(); })
      .def(
          "_budget",
          [](EngineObject& self) {
            self.turn().begin();
            return self.turn().left().count();
          },
          "The rest, in ns, of the time in which awaits may complete without a turn of the loop. The loop's\n"
          "next turn renews it.");
}

void bind_waiting(py::classh<EngineObject>& type) {
  const auto set_drain_timeout = [](EngineObject& self, const py::object& seconds) {
    if (PyNumber_Check(seconds.ptr()) == 0) refuse_type("drain_timeout", "a number of seconds", seconds);
    self.set_drain_timeout(py::float_(seconds));
  };
  type.def_property_readonly(
          "latency", [](const EngineObject& self) { return name_of(self.turn().latency()); },
          "What an event loop trades for speed: \"low\", \"balanced\" or \"power\".")
      .def_property("drain_timeout", &EngineObject::drain_timeout, set_drain_timeout,
                    "Seconds, 0 or more, that a cancelled await waits for the device before its task is given up.")
      .def_property_readonly(
          "num_quarantined_tasks", [](const EngineObject& self) { return Quarantine::instance().num_tasks(self); },
          "The number of tasks that were given up in flight and are still with the device. Their memory may not\n"
          "be used.");
}

}  // namespace

void bind_progress_engine(py::module_& module) {
  bind_mode(module);
  py::classh<EngineObject> type(
      module, "ProgressEngine",
      "Delivers the completions and events of its contexts, only within calls of its own methods. It\n"
      "belongs to the one thread that uses it, or, from the first await on, to that event loop.",
      collectable<EngineObject>());
  type.def(py::init([](double drain_timeout, const std::optional<std::string>& latency) {
             return std::make_shared<EngineObject>(drain_timeout, parse_latency(latency));
           }),
           py::kw_only(), "drain_timeout"_a = 1.0, "latency"_a = py::none(),
           "drain_timeout: seconds that a cancelled await waits for the device to release memory, before its\n"
           "task is given up.\n"
           "latency: what an event loop trades for speed. \"balanced\" polls the engine before it sleeps, for as\n"
           "long as polling has paid lately, at most 200 us. \"low\" always polls that long, and an await polls\n"
           "for up to 2 ms while the loop has nothing else to do. \"power\" sleeps at once. None: the\n"
           "environment's PYDOCA_LATENCY, else balanced.");
  bind_progress(type);
  bind_notification(type);
  bind_engine_life(type);
  bind_waiting(type);
  bind_inside(type);
  add_methods(type, turns());
  module.def("end_all_engines", &end_all);
  type.def("__repr__", &engine_repr);
  const auto read = reader(type, &EngineObject::engine);
  read("num_inflight_tasks", &ProgressEngine::num_inflight_tasks,
       "The number of tasks that are submitted and not completed.");
  read("may_advance_elsewhere", &ProgressEngine::may_advance_elsewhere,
       "Whether awaits and waits look for completions before they sleep, as far as the CPUs decide it: something that\n"
       "the engine waits for may advance on another CPU than this thread's. False in a thread that may run on one CPU\n"
       "only while all of it comes from that CPU. Found out anew before each sleep.");
  read("num_contexts", &ProgressEngine::num_contexts, "The number of contexts that are connected to it.");
}

}  // namespace pydoca::bindings

// What the cycle collector does with an engine. It is here, as an engine's references to tasks in flight are those of
// its contexts.
#include "engine/engine_object.hpp"
#include "task/context_object.hpp"

#include <chrono>

namespace pydoca::bindings {

namespace {

/// A device that takes longer keeps what it has, for ever.
constexpr std::chrono::seconds longest_end{2};

void warn(std::size_t num_tasks, std::size_t num_others) noexcept {
  constexpr const char* text =
      "a progress engine was dropped with %zu task(s) and %zu graph instance(s) or batch(es) in flight: they are "
      "ended, and call no callbacks; leave its with block, or stop its contexts";
  const py::error_scope pending;
  if (PyErr_WarnFormat(PyExc_ResourceWarning, 1, text, num_tasks, num_others) != 0) PyErr_WriteUnraisable(nullptr);
}

}  // namespace

void EngineObject::each_reference(References& references) {
  references.reset(bridge_);
  turn_.each_reference(references);
  for (const ContextObject* const context : contexts_) context->tasks().each_in_flight(references);
  for (const InFlightReference* held = in_flight_; held != nullptr; held = held->next_) references.keep(held->object_);
}

void EngineObject::finalize() noexcept {
  if (is_idle() || is_progressing() || is_forked()) return;
  try {
    engine().take_over();  // the collector runs in any thread, and the engine's own one cannot reach it any more
    std::size_t num_others = 0;
    for (const InFlightReference* held = in_flight_; held != nullptr; held = held->next_) ++num_others;
    warn(engine().num_inflight_tasks(), num_others);
    end_all();
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("the end of a pydoca.ProgressEngine");
  }
}

void EngineObject::end_all() {
  silent_ = true;
  for (ContextObject* const context : contexts_) context->drop_all();
  const auto end = Clock::now() + longest_end;
  while (!is_idle() && Clock::now() < end) {
    progress();
  }
}

}  // namespace pydoca::bindings

#include "engine/event_awaiter.hpp"

#include "call/raw_method.hpp"
#include "convert/convert.hpp"
#include "convert/python.hpp"
#include "engine/awaitable.hpp"
#include "engine/engine_object.hpp"
#include "loop/awaiter.hpp"
#include "trace/awaits.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace pydoca::bindings {

namespace {

/// The most completions that an await delivers at once.
constexpr std::size_t look_max = 256;

/// The iterator of an await of an event. Its first step takes what is there; an await that is dropped, closed or
/// cancelled before takes nothing.
struct EventAwaiter {
  PyObject ob_base;
  PyObject* event;  ///< null: the await is over
  PyObject* inner;  ///< the bridge's coroutine, once the await waits

  // AwaiterType uses these.
  static PySendResult send(EventAwaiter& self, PyObject* value, PyObject** result);
  static PyObject* throw_in(EventAwaiter& self, PyObject* const* args, Py_ssize_t num_args);
  static PyObject* close(EventAwaiter& self);
  static int traverse(EventAwaiter& self, visitproc visit, void* arg);
  static void clear(EventAwaiter& self);
};

using EventAwaiterType = AwaiterType<EventAwaiter>;

/// Waits in the loop's place, as an await of a task does; each delivery of the engine may be the event's, or one of
/// many that it needs. It does not while another coroutine could go on: that one may be the peer. Returns whether the
/// event is there.
bool wait_in_turn(Awaitable& event, LoopTurn& turn) {
  constexpr unsigned operations = 4;  // a delivery takes as long as so many short ones
  EngineObject& engine = event.engine();
  const std::uint64_t& delivered = engine.advanced();
  while (!event.ready()) {
    if (turn.is_over(operations) || !turn.is_alone()) return false;
    if (engine.look(look_max, Sources::listed) != 0) continue;
    if (!turn.progress_until(delivered) && !turn.sleep_until(delivered)) return event.ready();
  }
  return true;
}

/// The event's result, a new reference. Null when it has to wait, or the loop's next turn is due.
PyObject* take_at_once(Awaitable& event) {
  EngineObject& engine = event.engine();
  LoopTurn& turn = engine.turn();
  if (!turn.loop().is_running() || engine.is_progressing()) {
    return nullptr;
  }
  turn.begin();
  try {
    if (!event.ready()) engine.look(look_max, Sources::listed);
    if (!wait_in_turn(event, turn) || turn.is_over()) {
      return nullptr;
    }
    PyObject* const result = event.take().release().ptr();
    event.give_up();
    return result;
  } catch (...) {
    event.give_up();
    throw;
  }
}

/// Whether the result is there already; else inner is the coroutine that waits for it.
bool begin(EventAwaiter& self, PyObject*& result) {
  const TracedWait traced = trace::is_on() ? begin_traced_wait() : TracedWait();
  result = take_at_once(object_of<Awaitable>(self.event));
  if (result != nullptr) {
    if (traced.begin != 0) [[unlikely]]
      end_traced_wait(traced, 0);
    return true;
  }
  self.inner = bridge_module().attr("take_event")(py::handle(self.event)).release().ptr();
  EventAwaiterType::track(self);
  return false;
}

PySendResult end(EventAwaiter& self, PySendResult how) noexcept {
  Py_CLEAR(self.event);
  return how;
}

PySendResult EventAwaiter::send(EventAwaiter& self, PyObject* value, PyObject** result) {
  if (self.inner != nullptr) {
    return PyIter_Send(self.inner, value, result);
  }
  *result = nullptr;
  if (self.event == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "this await is over; await the object again");
    return PYGEN_ERROR;
  }
  try {
    if (begin(self, *result)) return end(self, PYGEN_RETURN);
  } catch (...) {
    set_python_error();
    return end(self, PYGEN_ERROR);
  }
  return PyIter_Send(self.inner, value, result);
}

/// Before the first step: the event may have begun its work, as a connection does.
void give_up(EventAwaiter& self) {
  if (self.event == nullptr) return;
  const auto event = py::reinterpret_steal<py::object>(std::exchange(self.event, nullptr));
  object_of<Awaitable>(event.ptr()).give_up();
}

/// The bridge waits until the device has released what the event lends.
PyObject* give_up_lent(EventAwaiter& self) {
  const py::error_already_set error;
  self.inner = bridge_module().attr("give_up_event")(py::handle(self.event), error.value()).release().ptr();
  EventAwaiterType::track(self);
  PyObject* result = nullptr;
  const PySendResult how = PyIter_Send(self.inner, Py_None, &result);
  return as_iterator(how, result);
}

/// asyncio cancels a task that it has not begun yet in this way.
PyObject* EventAwaiter::throw_in(EventAwaiter& self, PyObject* const* args, Py_ssize_t num_args) {
  if (self.inner != nullptr) {
    return throw_into(self.inner, args, num_args);
  }
  return guarded([&]() -> PyObject* {
    const bool lends_memory = self.event != nullptr && object_of<Awaitable>(self.event).lends_memory();
    if (!lends_memory) give_up(self);
    set_thrown(args, num_args);
    return lends_memory ? give_up_lent(self) : nullptr;
  });
}

PyObject* EventAwaiter::close(EventAwaiter& self) {
  if (self.inner != nullptr) {
    return PyObject_CallMethod(self.inner, "close", nullptr);
  }
  return guarded([&] { give_up(self); });
}

int EventAwaiter::traverse(EventAwaiter& self, visitproc visit, void* arg) {
  Py_VISIT(self.event);
  Py_VISIT(self.inner);
  return 0;
}

void EventAwaiter::clear(EventAwaiter& self) {
  Py_CLEAR(self.event);
  Py_CLEAR(self.inner);
}

PyObject* await_event(PyObject* event) {
  EventAwaiter* const awaiter = EventAwaiterType::allocate();
  if (awaiter == nullptr) {
    return nullptr;
  }
  if (is_whole(event)) object_of<Awaitable>(event).use();
  awaiter->event = Py_NewRef(event);
  awaiter->inner = nullptr;
  return &awaiter->ob_base;
}

}  // namespace

void set_event_await_slot(PyHeapTypeObject* type) {
  EventAwaiterType::prepare("pydoca.EventAwaiter");
  type->as_async.am_await = &await_event;
  type->ht_type.tp_as_async = &type->as_async;
}

}  // namespace pydoca::bindings

#include "engine/deliveries.hpp"

#include <pydoca/virtual_time.hpp>

#include "convert/convert.hpp"
#include "loop/blocking_call.hpp"

#include <string>

namespace pydoca::bindings {

namespace {

/// An event loop delivers the completions of one turn in about this time.
constexpr std::chrono::microseconds longest_look{200};

void warn_of_closed_loop(std::size_t lost) noexcept {
  constexpr const char* text =
      "%zu completion(s) had waiters in an event loop that is closed; the tasks have the outcome";
  if (PyErr_WarnFormat(PyExc_ResourceWarning, 1, text, lost) != 0) PyErr_WriteUnraisable(nullptr);
}

/// False with a Python error set.
bool set_unless_done(const py::object& future, const py::object& result) noexcept {
  static PyObject* const done = PyUnicode_InternFromString("done");
  static PyObject* const set_result = PyUnicode_InternFromString("set_result");
  const auto is_done = py::reinterpret_steal<py::object>(PyObject_CallMethodNoArgs(future.ptr(), done));
  if (is_done.ptr() == Py_True) {
    return true;
  }
  return is_done &&
         py::reinterpret_steal<py::object>(PyObject_CallMethodOneArg(future.ptr(), set_result, result.ptr()));
}

bool is_interrupt(const py::object& error) { return PyObject_IsInstance(error.ptr(), PyExc_Exception) == 0; }

/// Whether Python knows another thread with that number. The system may, for a moment, still know a thread that was
/// joined.
bool is_other_thread_of_python(long tid) noexcept {
  const PyThreadState* const self = PyThreadState_Get();
  for (PyThreadState* state = PyInterpreterState_ThreadHead(self->interp); state != nullptr;
       state = PyThreadState_Next(state)) {
    if (state != self && std::cmp_equal(state->native_thread_id, tid)) return true;
  }
  return false;
}

}  // namespace

void Deliveries::require_other_thread(std::string_view what) const {
  Status status = engine_->check_thread();
  if (status == Status::not_permitted && !is_other_thread_of_python(engine_->owner_tid())) {
    engine_->take_over();  // no other code could ever use or close it
    status = engine_->check_thread();
  }
  if (status != Status::success) [[unlikely]] {
    const std::string message = std::string(what) + ": " + engine_->describe_thread();
    raise_named(status == Status::bad_state ? "ForkedError" : "WrongThreadError", message);
  }
}

void Deliveries::require_open(std::string_view what) const {
  require_thread(what);
  if (closed_) [[unlikely]] {
    raise(Status::bad_state, std::string(what) + ": the progress engine is closed; make another");
  }
}

void Deliveries::require_progressable(std::string_view what) const {
  require_open(what);
  if (progressing_) [[unlikely]] {
    raise(Status::bad_state, std::string(what) + ": not in a completion callback; return from it first");
  }
}

template <class Deliver>
std::size_t Deliveries::run_batch(const Deliver& deliver) noexcept {
  static_assert(noexcept(deliver()));
  progressing_ = true;
  const std::size_t count = deliver();
  progressing_ = false;
  advanced_ += count;
  return count;
}

bool Deliveries::progress() {
  require_progressable("progress");
  const bool advanced = run_batch([this]() noexcept { return engine_->spin(1); }) != 0;
  settle();
  if (!advanced && sim::VirtualTime::is_on()) [[unlikely]] {
    call_blocking([this] { sim::VirtualTime::look_in_vain(advanced_); });
  }
  return advanced;
}

std::size_t Deliveries::drain_batch(std::size_t max, Sources sources) noexcept {
  return run_batch([&]() noexcept { return engine_->drain(max, sources); });
}

std::size_t Deliveries::drain(std::size_t max, Sources sources) {
  require_progressable("drain");
  const std::size_t count = drain_batch(max, sources);
  settle();
  return count;
}

bool Deliveries::assist() {
  require_progressable("progress");
  const bool advanced = run_batch([this]() noexcept { return engine_->assist() ? 1U : 0U; }) != 0;
  settle();
  return advanced;
}

std::size_t Deliveries::look(std::size_t max, Sources sources) {
  constexpr std::size_t piece = 32;
  require_open("progress");
  if (progressing_) {
    return 0;
  }
  std::size_t count = drain_batch(piece, sources);
  // Most looks find less than a piece, and read no clock.
  if (count == piece) {
    const auto end = sim::VirtualTime::is_on() ? Clock::time_point::max() : Clock::now() + longest_look;
    for (bool more = true; more && count < max;) {
      const std::size_t got = drain_batch(piece, sources);
      count += got;
      more = got == piece && Clock::now() < end;
    }
  }
  settle();
  return count;
}

bool Deliveries::advance(Sources sources) {
  constexpr std::uint32_t looks = 32;
  const bool advanced = run_batch([&]() noexcept { return engine_->spin(looks, sources); }) != 0;
  settle();
  return advanced;
}

void Deliveries::settle_some() {
  if (progressing_) {
    return;
  }
  if (!kept_.empty()) [[unlikely]] {
    std::exchange(kept_, {}).clear();
  }
  if (!woken_.empty()) {
    set_futures();
  }
  if (!faults_.empty()) [[unlikely]] {
    report_faults();
  }
}

void Deliveries::wake_now(const py::object& future, const py::object& result) noexcept {
  if (!set_unless_done(future, result)) PyErr_Clear();
}

void Deliveries::set_futures() {
  std::size_t lost = 0;
  for (const auto& [future, result] : std::exchange(woken_, {})) {
    // Only a closed loop accepts nothing: its waiters cannot get the result.
    if (!set_unless_done(future, result)) {
      PyErr_Clear();
      ++lost;
    }
  }
  if (lost != 0) warn_of_closed_loop(lost);
}

void Deliveries::collect(py::error_already_set& error, const py::object& source) noexcept {
  py::object value = error.value();
  if (error.trace()) PyException_SetTraceback(value.ptr(), error.trace().ptr());
  try {
    faults_.push_back({std::move(value), source});
  } catch (const std::bad_alloc&) {
    error.restore();
    PyErr_WriteUnraisable(source.ptr());
  }
}

bool Deliveries::report(const Fault& fault) {
  return bridge_ && bridge_.attr("report")(fault.error, fault.source).cast<bool>();
}

void Deliveries::report_faults() {
  py::object interrupt;
  py::list errors;
  for (const Fault& fault : std::exchange(faults_, {})) {
    if (is_interrupt(fault.error)) {
      if (!interrupt) interrupt = fault.error;
    } else if (!report(fault)) {
      errors.append(fault.error);
    }
  }
  py::object raised = interrupt;
  if (!errors.empty()) {
    py::object group = py::handle(PyExc_BaseExceptionGroup)("callbacks of pydoca raised", errors);
    if (interrupt) PyException_SetContext(interrupt.ptr(), group.release().ptr());
    if (!interrupt) raised = std::move(group);
  }
  if (raised) raise(raised);
}

}  // namespace pydoca::bindings

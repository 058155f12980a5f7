#include "task/engine_object.hpp"

#include "convert/collectable.hpp"
#include "convert/convert.hpp"
#include "task/awaitable.hpp"
#include "task/context_object.hpp"
#include "task/task_object.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace pydoca::bindings {

namespace {

/// About the time in which an event loop delivers the completions of one turn.
constexpr std::chrono::microseconds longest_look{200};

/// Every engine of this process, including those inherited by fork.
std::vector<EngineObject*>& engines() {
  static std::vector<EngineObject*> all;
  return all;
}

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

/// While it lives, callbacks may run.
class Batch {
 public:
  explicit Batch(bool& progressing) : progressing_(progressing) { progressing_ = true; }
  ~Batch() { progressing_ = false; }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

 private:
  bool& progressing_;
};

}  // namespace

EngineObject::EngineObject(double drain_timeout, Latency latency)
    : engine_(ProgressEngine::create()), turn_(*this, latency) {
  set_drain_timeout(drain_timeout);
  engines().push_back(this);
}

EngineObject::~EngineObject() { std::erase(engines(), this); }

void EngineObject::require_thread(std::string_view what) const {
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

void EngineObject::set_drain_timeout(double seconds) {
  if (!(seconds >= 0)) {
    raise(Status::invalid_value, "drain_timeout is in seconds, 0 or more");
  }
  drain_timeout_ = seconds;
}

void EngineObject::require_open(std::string_view what) const {
  require_thread(what);
  if (closed_) [[unlikely]] {
    raise(Status::bad_state, std::string(what) + ": the progress engine is closed");
  }
}

void EngineObject::require_progressable(std::string_view what) const {
  require_open(what);
  if (progressing_) [[unlikely]] {
    raise(Status::bad_state, std::string(what) + ": not in a completion callback; return from it first");
  }
}

bool EngineObject::progress() {
  require_progressable("progress");
  bool advanced = false;
  {
    const Batch batch(progressing_);
    advanced = engine_->progress() != 0;
  }
  advanced_ += advanced ? 1 : 0;
  settle();
  return advanced;
}

std::size_t EngineObject::drain_batch(std::size_t max) {
  const Batch batch(progressing_);
  const std::size_t count = engine_->drain(max);
  advanced_ += count;
  return count;
}

std::size_t EngineObject::drain(std::size_t max) {
  require_progressable("drain");
  const std::size_t count = drain_batch(max);
  settle();
  return count;
}

std::size_t EngineObject::look(std::size_t max) {
  constexpr std::size_t piece = 32;
  require_open("drain");
  if (progressing_) {
    return 0;
  }
  const auto end = Clock::now() + longest_look;
  std::size_t count = 0;
  for (bool more = true; more && count < max;) {
    const std::size_t got = drain_batch(piece);
    count += got;
    more = got == piece && Clock::now() < end;
  }
  settle();
  return count;
}

/// Polls a few times; returns whether anything advanced.
bool EngineObject::advance() {
  constexpr std::uint32_t looks = 32;
  bool advanced = false;
  {
    const Batch batch(progressing_);
    advanced = engine_->spin(looks) != 0;
  }
  advanced_ += advanced ? 1 : 0;
  settle();
  return advanced;
}

void EngineObject::settle() {
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

void EngineObject::set_futures() {
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

void EngineObject::collect(py::error_already_set& error, const py::object& source) noexcept {
  py::object value = error.value();
  if (error.trace()) PyException_SetTraceback(value.ptr(), error.trace().ptr());
  faults_.push_back({std::move(value), source});
}

bool EngineObject::report(const Fault& fault) {
  return bridge_ && bridge_.attr("report")(fault.error, fault.source).cast<bool>();
}

void EngineObject::report_faults() {
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

py::object EngineObject::bridge() {
  if (!bridge_) {
    bridge_ = bridge_module().attr("Bridge")(py::cast(this));
  }
  return bridge_;
}

void EngineObject::release_thread() {
  require_progressable("release_thread");
  if (engine_->num_inflight_tasks() == 0 && bridge_) bridge_.attr("unbind")();
  engine_->release_thread();
}

void EngineObject::close() {
  if (closed_) {
    return;
  }
  if (is_forked()) {
    closed_ = true;
    return;
  }
  require_progressable("close the progress engine");
  engine_->close();
  closed_ = true;
  if (bridge_) bridge_.attr("unbind")();
  drain_log();
}

void EngineObject::leave() {
  std::exception_ptr fault;
  if (!is_forked()) {
    const py::list open = contexts();
    for (std::size_t left = open.size(); left-- > 0;) {
      try {
        open[left].cast<ContextObject&>().leave();
      } catch (py::error_already_set&) {
        if (!fault) fault = std::current_exception();
      }
    }
  }
  if (fault) std::rethrow_exception(fault);
  close();
}

void EngineObject::end_all() noexcept {
  constexpr double limit = 2;
  const auto begin = Clock::now();
  for (EngineObject* engine : std::vector(engines())) {
    if (engine->closed_ || engine->engine_->check_thread() != Status::success ||
        engine->engine_->num_inflight_tasks() == 0) {
      continue;
    }
    const double left = limit - std::chrono::duration<double>(Clock::now() - begin).count();
    try {
      const py::object self = py::cast(engine);
      for (const py::handle& context : engine->contexts()) context.cast<ContextObject&>().stop();
      block_until(*engine, [&] { return engine->engine_->num_inflight_tasks() == 0; }, std::max(left, 0.0), "exit");
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("pydoca at exit");
    }
  }
}

py::list EngineObject::contexts() const {
  py::list list;
  for (ContextObject* context : contexts_) list.append(context->self());
  return list;
}

EngineObject& to_engine(const py::object& object) {
  if (!py::isinstance<EngineObject>(object)) {
    const py::object name = py::type::handle_of(object).attr("__name__");
    throw py::type_error(py::str("a pydoca.ProgressEngine is needed, not {}").format(name).cast<std::string>());
  }
  return object.cast<EngineObject&>();
}

int EngineObject::traverse(visitproc visit, void* arg) const {
  const int stop = visit_ref(bridge_, visit, arg);
  if (stop != 0) {
    return stop;
  }
  return turn_.traverse(visit, arg);
}

}  // namespace pydoca::bindings

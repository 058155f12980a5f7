#include "future/task_future.hpp"

#include "call/raw_method.hpp"
#include "convert/convert.hpp"
#include "convert/python.hpp"
#include "engine/engine_object.hpp"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

namespace pydoca::bindings {

namespace {

py::object asyncio_error(const char* name) { return bridge_module().attr("asyncio").attr(name); }

}  // namespace

TaskFuture::TaskFuture(py::handle self, py::object task, py::object loop)
    : self_(self), task_(std::move(task)), task_object_(&object_of<TaskObject>(task_.ptr())), loop_(std::move(loop)) {
  if (task_object_->in_flight()) {
    task_object_->watches().add(*this);
  } else {
    copy_outcome();
  }
}

void TaskFuture::copy_outcome() {
  status_ = task().status();
  completions_ = task().completions();
  if (state_ == State::pending) state_ = State::done;
  if (status_ == Status::success) {
    value_ = task().value();
    if (state_ == State::done) task_ = py::object();
  } else {
    failure_ = task().failure_text(status_);
  }
}

void TaskFuture::completed() noexcept {
  EngineObject& engine = task().engine();
  const auto self = py::reinterpret_borrow<py::object>(self_);
  const py::object kept = std::exchange(kept_, {});
  try {
    copy_outcome();
    if (!callbacks_.empty() || state_ == State::cancelling) deliver_later(engine, self);
  } catch (py::error_already_set& error) {
    engine.collect(error, self);
  } catch (const std::bad_alloc&) {  // the status has to do
  }
}

void TaskFuture::delivery_ended() {
  if (state_ != State::cancelling) return;
  if (task().done()) task().abandon();
  end_as_cancelled();
}

void TaskFuture::require_done() const {
  if (state_ == State::cancelled) raise(make_cancelled_error());
  if (state_ != State::done) raise(asyncio_error("InvalidStateError")(describe() + " is not done; await it"));
}

py::object TaskFuture::result() {
  const py::object error = exception();
  if (!error.is_none()) raise(error);
  return value_;
}

/// A new exception each time: one that the future kept would refer to the frames that it came through, and these to
/// the future.
py::object TaskFuture::exception() {
  require_done();
  if (status_ == Status::success) return py::none();
  if (task().completions() == completions_) task().mark_seen();
  py::object error = to_exception(status_, failure_);
  error.attr("task") = task_;
  task().free_if_stopping();
  return error;
}

py::object TaskFuture::make_cancelled_error() const {
  const py::object type = asyncio_error("CancelledError");
  py::object error = message_.is_none() ? type() : type(message_);
  if (note_) error.attr("add_note")(note_);
  return error;
}

/// The error may not be set while Python code runs.
bool TaskFuture::is_cancellation() {
  static const py::handle type = [] {
    const py::error_scope pending;
    return asyncio_error("CancelledError").release();
  }();
  return PyErr_ExceptionMatches(type.ptr()) != 0;
}

std::string TaskFuture::describe() const {
  constexpr std::array names{"pending", "cancelling", "cancelled", "done"};
  const char* const state = names[static_cast<std::size_t>(state_)];
  return "<pydoca future, " + std::string(state) + (task_ ? ": " + task().describe() : "") + ">";
}

void TaskFuture::require_thread(const char* what) const {
  if (task_) task().engine().require_thread(what);
}

bool TaskFuture::cancel(const py::object& message) {
  require_thread("cancel a future");
  if (is_done()) return false;
  if (state_ == State::cancelling) {
    if (message.is_none() || !message.equal(message_)) stop_draining();
    return true;
  }
  message_ = message;
  state_ = State::cancelling;
  if (task().lends_memory()) {
    timer_ = loop_.attr("call_later")(task().engine().drain_timeout(), self_.attr("_stop_draining"));
  } else {
    leave_wait();
  }
  return true;
}

/// A wait that lends no memory ends with the last that waits for it.
void TaskFuture::leave_wait() {
  const py::object left = task_;
  TaskObject& its = task();
  end_as_cancelled();
  its.abandon();
  its.engine().look(SIZE_MAX);  // its slot is free for the next wait at once
  schedule_callbacks();
}

void TaskFuture::stop_draining() {
  if (state_ != State::cancelling) return;
  if (is_linked()) note_ = bridge_module().attr("give_up_memory")(task_);
  end_as_cancelled();
  schedule_callbacks();
}

void TaskFuture::end_as_cancelled() {
  const py::object kept = std::exchange(kept_, {});
  const py::object task = std::exchange(task_, {});
  const py::object timer = std::exchange(timer_, {});
  unlink();
  state_ = State::cancelled;
  value_ = py::object();
  if (timer) timer.attr("cancel")();
}

void TaskFuture::add_done_callback(py::object function, py::object variables) {
  require_thread("add_done_callback of a future");
  Callback callback{std::move(function), std::move(variables)};
  if (!callback.variables) callback.variables = py::reinterpret_steal<py::object>(PyContext_CopyCurrent());
  if (is_done()) return schedule(callback);
  callbacks_.push_back(std::move(callback));
  if (is_linked()) kept_ = py::reinterpret_borrow<py::object>(self_);
}

std::size_t TaskFuture::remove_done_callback(const py::object& function) {
  require_thread("remove_done_callback of a future");
  // Comparing them runs Python code, which may change the list, or end the wait.
  std::vector<Callback> unwanted = callbacks_;
  std::erase_if(unwanted, [&](const Callback& other) { return !other.function.equal(function); });
  const std::size_t removed = std::erase_if(callbacks_, [&](const Callback& other) {
    return std::ranges::any_of(unwanted, [&](const Callback& one) { return one.function.is(other.function); });
  });
  if (callbacks_.empty()) kept_ = py::object();
  return removed;
}

void TaskFuture::schedule_callbacks() {
  const std::vector<Callback> callbacks = std::exchange(callbacks_, {});
  for (const Callback& callback : callbacks) schedule(callback);
}

void TaskFuture::schedule(const Callback& callback) const {
  static PyObject* const name = PyUnicode_InternFromString("call_soon");
  static PyObject* const keywords = PyTuple_Pack(1, PyUnicode_InternFromString("context"));
  const std::array arguments{loop_.ptr(), callback.function.ptr(), self_.ptr(), callback.variables.ptr()};
  const auto handle = py::reinterpret_steal<py::object>(PyObject_VectorcallMethod(name, arguments.data(), 3, keywords));
  if (!handle) throw py::error_already_set();
}

void TaskFuture::run_callbacks() {
  const std::vector<Callback> callbacks = std::exchange(callbacks_, {});
  for (std::size_t i = 0; i < callbacks.size(); ++i) {
    try {
      run(callbacks[i]);
    } catch (...) {
      for (++i; i < callbacks.size(); ++i) schedule(callbacks[i]);
      throw;
    }
  }
}

void TaskFuture::run(const Callback& callback) {
  bool ran = PyContext_Enter(callback.variables.ptr()) == 0;
  if (ran) {
    const auto result = py::reinterpret_steal<py::object>(PyObject_CallOneArg(callback.function.ptr(), self_.ptr()));
    ran = static_cast<bool>(result);
    if (PyContext_Exit(callback.variables.ptr()) != 0) ran = false;
  }
  if (ran) return;
  py::error_already_set error;
  if (error.matches(PyExc_KeyboardInterrupt) || error.matches(PyExc_SystemExit)) throw error;
  py::dict told;
  told["message"] = "Exception in callback " + py::repr(callback.function).cast<std::string>();
  told["exception"] = error.value();
  told["future"] = self_;
  loop_.attr("call_exception_handler")(told);
}

void TaskFuture::each_reference(References& references) { references.reset(kept_); }

void TaskFuture::each_own_reference(References& references) {
  references.keep(task_, loop_);
  references.reset(value_, timer_, note_);
  references.drop(message_);
  for (Callback& callback : callbacks_) references.reset(callback.function, callback.variables);
  if (references.are_dropped()) callbacks_.clear();
}

}  // namespace pydoca::bindings

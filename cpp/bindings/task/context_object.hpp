#pragma once

#include <pydoca/context.hpp>

#include "convert/pybind.hpp"
#include "convert/view.hpp"
#include "device/device_user.hpp"
#include "engine/awaitable.hpp"
#include "engine/engine_object.hpp"
#include "memory/area.hpp"
#include "task/context_tasks.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pydoca::bindings {

/// The constructor keywords of every context; None when the caller wants none.
struct ContextOptions {
  /// The parameters, in the form that signature() takes.
  static constexpr std::string_view keywords =
      "on_completion=None, on_error=None, on_state_changed=None, user_data=None";
  /// Throws TypeError for a callback that cannot be called.
  static ContextOptions of(const py::kwargs& given);

  py::object on_completion;     ///< (task, task.user_data, context.user_data)
  py::object on_error;          ///< the same parameters, for failed tasks
  py::object on_state_changed;  ///< (context.user_data, context, previous, next)
  py::object user_data;
};

/// The callbacks of the tasks of one kind; None for none.
struct TaskCallbacks {
  py::object on_completion;
  py::object on_error;
};

inline py::tuple to_tuple(const TaskStats& stats) {
  return py::make_tuple(stats.submitted, stats.completed, stats.failed, stats.cancelled);
}

/// A context as Python has it; each library derives its own class. It keeps its engine and device alive. The end of a
/// with block frees the tasks that Python has; stop() does not. The engine's user data word points to this object.
class ContextObject : public DeviceUser {
 public:
  /// Connects context to engine, unless that is None; both are Python objects. Python's device property returns device.
  ContextObject(py::object engine, py::object device, std::shared_ptr<Context> context, ContextOptions options);
  virtual ~ContextObject();

  /// The object of an engine's context, by the context's user data word.
  template <class Object>
  static Object& of(std::uint64_t context_user_data) noexcept {
    return static_cast<Object&>(*reinterpret_cast<ContextObject*>(static_cast<std::uintptr_t>(context_user_data)));
  }

  /// Connects it for life. Throws the errors of ProgressEngine::connect(), TypeError unless engine is one, bad_state
  /// when it is closed or of a forked process, not_permitted in another thread than its own.
  void connect(py::object engine);
  bool is_connected() const noexcept { return engine_ != nullptr; }
  /// The engine of a connected context; every context that was started is connected.
  EngineObject& engine() const noexcept { return *engine_; }
  /// Throws as the engine's does; a context that is not connected belongs to no thread.
  void require_thread(std::string_view what) const {
    if (engine_ != nullptr) [[likely]] {
      engine_->require_thread(what);
    }
  }
  Context& context() const noexcept { return *context_; }
  /// None until connected.
  const py::object& engine_ref() const noexcept { return engine_ref_; }
  const py::object& device_ref() const noexcept { return device_ref_; }
  const py::object& user_data() const noexcept { return user_data_; }
  void set_user_data(py::object data) { user_data_ = std::move(data); }
  const py::object& on_state_changed() const noexcept { return on_state_changed_; }
  void set_on_state_changed(py::object callback);
  /// The callbacks of the tasks of that kind, by its number in the library's table; a reference that stays valid.
  const TaskCallbacks& callbacks(std::size_t kind) const noexcept { return callbacks_[kind]; }
  /// What DOCA's set_conf does: configure(num_tasks) configures the engine's tasks of that kind, or throws.
  template <typename Configure>
  void set_conf(std::size_t kind, TaskCallbacks callbacks, py::handle num_tasks, const Configure& configure) {
    require_configurable("set conf of", callbacks);
    configure(to_num_tasks(num_tasks));
    const TaskCallbacks dropped = std::exchange(callbacks_[kind], std::move(callbacks));
  }
  bool is_closed() const noexcept { return closed_ || context_->is_closed(); }
  /// The Python object of this; lives at least as long as the result.
  py::object self();

  Status start() { return change("start", &Context::start); }
  Status stop();
  void close();
  void flush_tasks();
  /// The value of with for a context that has settled: the context itself. Throws the error of a failed start.
  virtual py::object entered();
  /// For the end of a with block: stops, and frees the tasks that Python has, each as soon as it is not in flight.
  void begin_leaving();
  /// Begins the stop of a context that nothing can reach any more; its tasks are freed.
  void drop_all();
  /// Whether a task that completes now is freed.
  bool is_leaving() const noexcept { return leaving_; }

  Waiters& state_waiters() noexcept { return state_waiters_; }
  ContextTasks& tasks() noexcept { return tasks_; }
  const ContextTasks& tasks() const noexcept { return tasks_; }
  /// The bufs of its tasks in flight whose operands are memory.
  AreaBufs& area_bufs() noexcept { return area_bufs_; }
  /// Returns the status of allocate(). When no slot is left, takes the slots of tasks whose waiters have given up.
  template <typename Allocate>
  Status allocate_slot(const Allocate& allocate) {
    Status status = allocate();
    while (status == Status::no_memory && tasks_.reclaim_slot()) status = allocate();
    return status;
  }

  /// Throws status, the result of allocating a task of that kind.
  [[noreturn]] void refuse_task(Status status, std::size_t kind, std::string_view name) const;

  /// Records that a task was given up: submissions are refused until the context was stopped and is idle.
  void fault() noexcept { faulted_ = true; }
  bool is_faulted() const noexcept { return faulted_; }
  /// Throws bad_state when it is; what begins the message.
  void require_no_fault(const std::string& what) const;

  /// Runs the work of an engine's callback. An exception waits for the end of the engine's batch. This object also
  /// lives until then, even when work drops every reference to it.
  template <typename Work>
  void guard(const Work& work) noexcept {
    py::object self = this->self();
    try {
      work();
    } catch (py::error_already_set& error) {
      engine_->collect(error, self);
    } catch (const std::exception&) {  // out of memory
      set_python_error();
      PyErr_WriteUnraisable(self.ptr());
    }
    engine_->keep(std::move(self));
  }

  virtual void each_reference(References& references);

  /// For displays, at one moment and without references: kind, device, state, closed, faulted, failure and its reason,
  /// tasks in flight and allocated, the counts of stats(), and descriptions of at most max_tasks tasks in flight.
  py::tuple snapshot(std::size_t max_tasks) const;

 protected:
  /// Libraries with more work at a change of state do it here; runs before Python's callback.
  virtual void state_entered(ContextState /*state*/) {}
  /// close() has closed the engine's context.
  virtual void closed() {}
  /// Sets a callback that the library calls. Throws bad_state unless idle, TypeError unless it is None or callable.
  void set_callback(py::object& which, const char* name, py::object callback);

 private:
  bool uses(const DeviceObject& device) const override;
  /// Closes it only in IDLE: a context that runs needs its engine for its end.
  void close_if_idle() override;
  /// Throws TypeError for a callback that cannot be called.
  void require_configurable(std::string_view what, const TaskCallbacks& callbacks) const;
  static std::uint32_t to_num_tasks(py::handle value);
  static void state_changed(std::uint64_t user_data, Context& context, ContextState previous,
                            ContextState next) noexcept;
  void tell_state(ContextState previous, ContextState next);
  Status change(std::string_view what, Status (Context::*call)());
  void require_open(std::string_view what) const;

  py::object engine_ref_;
  py::object device_ref_;
  EngineObject* engine_ = nullptr;
  std::shared_ptr<Context> context_;
  std::array<TaskCallbacks, ContextTasks::num_kinds> callbacks_;
  py::object on_state_changed_;
  py::object user_data_;
  py::handle self_;  ///< the Python object of this, without a reference; null until its first use
  Waiters state_waiters_;
  ContextTasks tasks_;
  AreaBufs area_bufs_;
  bool closed_ = false;
  bool faulted_ = false;
  bool leaving_ = false;
};

/// The value of with, when the context is neither starting nor stopping.
class SettledState final : public Awaitable {
 public:
  explicit SettledState(py::object context);
  EngineObject& engine() override { return context_->engine(); }
  Waiters& waiters() override { return context_->state_waiters(); }
  bool ready() override;
  py::object take() override;
  std::string_view what() const override { return what_; }
  void each_reference(References& references) const { references.keep(context_ref_); }

 private:
  py::object context_ref_;
  ContextObject* context_;
  std::string what_;
};

}  // namespace pydoca::bindings

#include "gather/watched_tasks.hpp"

#include "call/raw_method.hpp"
#include "convert/convert.hpp"
#include "engine/engine_object.hpp"

#include <string>
#include <utility>

namespace pydoca::bindings {

namespace {

py::list list_of(py::handle tasks) {
  // PyList_GetSlice() takes a third of the time of PySequence_List().
  PyObject* const list = PyList_CheckExact(tasks.ptr()) != 0
                             ? PyList_GetSlice(tasks.ptr(), 0, PyList_GET_SIZE(tasks.ptr()))
                             : PySequence_List(tasks.ptr());
  if (list == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::list>(list);
}

TaskObject& checked(const EngineObject& engine, PyObject* item, std::string_view what) {
  PyTypeObject* const type = BoundType<TaskObject>::get();
  // Bound classes of tasks have one tp_dealloc, and no others have it; a class made in Python has another.
  if (Py_TYPE(item)->tp_dealloc != type->tp_dealloc && PyObject_TypeCheck(item, type) == 0) {
    throw py::type_error(
        format_text("{} takes an iterable of Tasks, and one item is of type {}", to_str(what), Py_TYPE(item)->tp_name));
  }
  auto& task = object_of<TaskObject>(item);
  task.require_submitted(what);
  if (&task.engine() != &engine) {
    raise(Status::invalid_value,
          std::string(what) + ": " + py::repr(item).cast<std::string>() + " belongs to another progress engine");
  }
  return task;
}

}  // namespace

WatchedTasks::WatchedTasks(py::object engine, py::handle tasks, std::string_view what)
    : engine_ref_(std::move(engine)),
      engine_(&object_of<EngineObject>(engine_ref_.ptr())),
      tasks_(list_of(tasks)),
      size_(tasks_.size()),
      several_(size_ > 1 ? size_ : 0),
      watches_(size_ > 1 ? several_.data() : &only_) {
  for (std::size_t i = 0; i < size_; ++i) {
    watches_[i].task = &checked(*engine_, PyList_GET_ITEM(tasks_.ptr(), static_cast<Py_ssize_t>(i)), what);
  }
  num_left_ = size_;
  for (std::size_t i = 0; i < size_; ++i) watch(watches_[i]);
}

void WatchedTasks::watch(Watch& place) noexcept {
  place.owner = this;
  place.was_in_flight = place.task->in_flight();
  if (place.was_in_flight) {
    place.task->watches().add(place);
  } else {
    arrive(place);
  }
}

void WatchedTasks::arrive(Watch& watch) noexcept {
  keep(watch);
  ++num_arrivals_;
  --num_left_;
  if (future_) engine_->wake_later(std::exchange(future_, {}), py::none());
}

void WatchedTasks::keep(Watch& arrived) noexcept {
  (last_arrived_ == nullptr ? first_arrived_ : last_arrived_->next_arrived) = &arrived;
  last_arrived_ = &arrived;
}

py::object WatchedTasks::take_arrived() noexcept {
  Watch& arrived = *first_arrived_;
  first_arrived_ = arrived.next_arrived;
  if (first_arrived_ == nullptr) last_arrived_ = nullptr;
  return std::exchange(arrived.task, nullptr)->self();
}

py::list WatchedTasks::waited_for() const {
  py::list tasks;
  for (std::size_t i = 0; i < size_; ++i) {
    if (watches_[i].was_in_flight && watches_[i].task != nullptr) tasks.append(watches_[i].task->self());
  }
  return tasks;
}

py::object WatchedTasks::first_failure() const {
  py::object first;
  for (std::size_t i = 0; i < size_; ++i) {
    py::object error = watches_[i].task->outcome();
    if (!first && !error.is_none()) first = std::move(error);
  }
  return first;
}

WatchedTasks::Watch& WatchedTasks::first_left() noexcept {
  while (!watches_[num_first_done_].is_linked()) ++num_first_done_;
  return watches_[num_first_done_];
}

void WatchedTasks::wake_at_next(py::object future) {
  wake_at_first_left(future);
  future_ = std::move(future);
}

void WatchedTasks::wake_at_first_left(py::object future) {
  TaskObject* const keeper = first_left().task;
  keeper->waiters().add(future);
  keeper_ = keeper;
  kept_ = std::move(future);
}

void WatchedTasks::forget_future() noexcept {
  future_ = {};
  if (kept_) keeper_->waiters().discard(std::exchange(kept_, {}));
}

void WatchedTasks::cancel() noexcept {
  for (std::size_t i = 0; i < size_; ++i) watches_[i].unlink();
  forget_future();
}

void WatchedTasks::each_reference(References& references) {
  references.keep(engine_ref_, tasks_);
  references.reset(future_, kept_);
}

}  // namespace pydoca::bindings

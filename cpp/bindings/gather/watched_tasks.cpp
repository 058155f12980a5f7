#include "gather/watched_tasks.hpp"

#include "call/raw_method.hpp"
#include "engine/engine_object.hpp"

#include <utility>

namespace pydoca::bindings {

WatchedTasks::WatchedTasks(py::object engine, py::handle tasks, std::string_view what)
    : engine_ref_(std::move(engine)),
      engine_(&object_of<EngineObject>(engine_ref_.ptr())),
      tasks_(*engine_, tasks, what),
      size_(tasks_.size()),
      several_(size_ > 1 ? size_ : 0),
      watches_(size_ > 1 ? several_.data() : &only_) {
  for (std::size_t i = 0; i < size_; ++i) {
    watches_[i].task = &tasks_.at(i);
    watches_[i].task->require_submitted(what);
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
  references.keep(engine_ref_, tasks_.list());
  references.reset(future_, kept_);
}

}  // namespace pydoca::bindings

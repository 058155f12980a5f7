#include "task/context_tasks.hpp"

#include <utility>

namespace pydoca::bindings {

py::object SlotHolder::become_used(py::object context) noexcept {
  context_ref_ = std::move(context);
  _Py_NewReference(self_.ptr());
  PyObject_GC_Track(self_.ptr());
  return py::reinterpret_steal<py::object>(self_);
}

void ContextTasks::add(SlotHolder& task) noexcept {
  task.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &task;
  first_ = &task;
}

void ContextTasks::remove(SlotHolder& task) noexcept {
  (task.previous_ != nullptr ? task.previous_->next_ : first_) = task.next_;
  if (task.next_ != nullptr) task.next_->previous_ = task.previous_;
  task.previous_ = task.next_ = nullptr;
}

void ContextTasks::release(SlotHolder& task) noexcept {
  if (task.slot_ != nullptr && task.slot_->free() == Status::success) {
    task.slot_ = nullptr;
    remove(task);
    task.forget_operands();
  }
}

template <class Predicate>
void ContextTasks::release_if(Predicate wanted) noexcept {
  for (SlotHolder* task = first_; task != nullptr;) {
    SlotHolder* const next = task->next_;
    // A task whose completion is being delivered gives its slot back after the delivery.
    if (!task->in_flight() && wanted(*task)) release(*task);
    task = next;
  }
}

void ContextTasks::release_idle() noexcept {
  release_if([](const SlotHolder&) { return true; });
}

void ContextTasks::release_abandoned() noexcept {
  release_if([](const SlotHolder& task) { return task.is_abandoned(); });
}

void ContextTasks::free_in_flight() noexcept {
  for (SlotHolder* task = first_; task != nullptr; task = task->next_) {
    task->freed_in_flight_ = task->freed_in_flight_ || task->in_flight();
  }
}

void ContextTasks::each_in_flight(References& references) const {
  for (const SlotHolder* task = first_; task != nullptr; task = task->next_) references.keep(task->in_flight_);
}

py::list ContextTasks::describe_in_flight(std::size_t limit) const {
  py::list list;
  for (const SlotHolder* task = first_; task != nullptr && list.size() < limit; task = task->next_) {
    if (task->in_flight()) list.append(task->describe());
  }
  for (const MemoryHolder* const batch : batches_) {
    if (list.size() < limit) list.append(batch->describe());
  }
  return list;
}

bool ContextTasks::reclaim_slot() noexcept {
  for (SlotHolder* task = first_; task != nullptr; task = task->next_) {
    if (task->done() && (task->is_abandoned() || task->is_left_to_asyncio())) {
      const py::object self = task->self();
      release(*task);
      return task->is_freed();
    }
  }
  return false;
}

void ContextTasks::keep_free(SlotHolder& task, std::size_t kind) noexcept {
  task.next_free_ = std::exchange(free_list_[kind], &task);
}

py::object ContextTasks::take_free(py::handle context, std::size_t kind) noexcept {
  SlotHolder* const task = free_list_[kind];
  if (task == nullptr) {
    return {};
  }
  free_list_[kind] = std::exchange(task->next_free_, nullptr);
  return task->become_used(py::reinterpret_borrow<py::object>(context));
}

void ContextTasks::drop_free_list() noexcept {
  for (SlotHolder*& first : free_list_) {
    while (first != nullptr) {
      SlotHolder& task = *first;
      first = std::exchange(task.next_free_, nullptr);
      // An object without a slot does not join the free list; it ends with this reference.
      release(task);
      const py::object last = task.become_used({});
    }
  }
}

}  // namespace pydoca::bindings

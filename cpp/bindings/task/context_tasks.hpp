#pragma once

#include <pydoca/task.hpp>

#include "convert/collectable.hpp"
#include "convert/pybind.hpp"
#include "task/quarantine.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pydoca::bindings {

/// The part of a Python task that its context uses: its slot, its Python object, and its places in the context's lists.
class SlotHolder : NotCopied, public MemoryHolder {
 public:
  py::object self() const { return py::reinterpret_borrow<py::object>(self_); }
  bool in_flight() const noexcept { return static_cast<bool>(in_flight_); }
  /// Whether it has completed at least once and is not in flight.
  bool done() const noexcept { return completions_ != 0 && !in_flight_; }
  bool is_freed() const noexcept { return slot_ == nullptr; }
  const std::uint64_t& completions() const noexcept { return completions_; }
  Task* slot() const noexcept { return slot_; }
  bool is_abandoned() const noexcept { return abandoned_; }
  /// An asyncio task that awaits the task begins (1) or ends (-1). It refers to the Python object twice, for as long as
  /// it lives: itself, and by its drive (loop/drive.hpp).
  void count_driver(int change) noexcept { num_drivers_ += change; }
  bool has_drivers() const noexcept { return num_drivers_ != 0; }
  /// Whether only asyncio tasks refer to the Python object: the program has no name for it.
  bool is_left_to_asyncio() const noexcept { return num_drivers_ != 0 && Py_REFCNT(self_.ptr()) <= 2 * num_drivers_; }

 protected:
  SlotHolder(py::object context, Task& slot) noexcept : context_ref_(std::move(context)), slot_(&slot) {}
  virtual ~SlotHolder() = default;

  /// Drops the references that the operation does not need once the slot is gone.
  virtual void forget_operands() noexcept = 0;

  py::object context_ref_;
  Task* slot_;
  py::handle self_;       ///< the Python object of this, without a reference
  py::object in_flight_;  ///< the engine's reference to that object, from submission to completion
  std::uint64_t completions_ = 0;
  Py_ssize_t num_drivers_ = 0;
  bool abandoned_ = false;
  bool freed_in_flight_ = false;  ///< its completion calls no callback, and gives its slot back

 private:
  friend class ContextTasks;

  /// Takes an object of the free list into use again.
  py::object become_used(py::object context) noexcept;

  SlotHolder* next_free_ = nullptr;
  SlotHolder* previous_ = nullptr;
  SlotHolder* next_ = nullptr;
};

/// The tasks of a context that have a slot, and its free list.
class ContextTasks {
 public:
  /// The maximal number of kinds of tasks in one context.
  static constexpr std::size_t num_kinds = 11;

  void add(SlotHolder& task) noexcept;
  void remove(SlotHolder& task) noexcept;
  /// Gives the slot of the task back, if the caller has the task.
  void release(SlotHolder& task) noexcept;
  /// Gives the slots of all tasks back that are not in flight.
  void release_idle() noexcept;
  /// Gives back only the slots of those tasks whose waiters have given up.
  void release_abandoned() noexcept;
  /// Frees the tasks in flight, while the context stops: their completions call no callbacks.
  void free_in_flight() noexcept;
  /// The engine's references to tasks in flight.
  void each_in_flight(References& references) const;
  /// A batch, which has no Python objects of its tasks, is in flight from now on; may throw std::bad_alloc.
  void add_batch(const MemoryHolder& batch) { batches_.push_back(&batch); }
  void remove_batch(const MemoryHolder& batch) noexcept { std::erase(batches_, &batch); }
  bool has_batches() const noexcept { return !batches_.empty(); }
  /// The descriptions of tasks in flight, then of batches, of at most limit of them; the newest task first.
  py::list describe_in_flight(std::size_t limit) const;
  /// Gives the slot of a completed task back whose await was cancelled, or that only asyncio has: asyncio may keep the
  /// Python object long after its last use. Returns whether there was one.
  bool reclaim_slot() noexcept;

  /// An idle task whose Python object is not referenced stays with its slot for the next task: a new Python object
  /// costs more than a short operation. take_free() returns null when there is none. context is the Python object of
  /// the tasks' context.
  void keep_free(SlotHolder& task, std::size_t kind) noexcept;
  py::object take_free(py::handle context, std::size_t kind) noexcept;
  void drop_free_list() noexcept;

 private:
  template <class Predicate>
  void release_if(Predicate wanted) noexcept;

  SlotHolder* first_ = nullptr;
  std::vector<const MemoryHolder*> batches_;
  std::array<SlotHolder*, num_kinds> free_list_{};
};

}  // namespace pydoca::bindings

#pragma once

#include "pydoca/context.hpp"
#include "pydoca/status.hpp"
#include "pydoca/task.hpp"

#include "core/thread_check.hpp"
#include "detail/trace/recorder.hpp"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>

namespace pydoca::detail {

/// All tasks of one kind in one context: their configuration, and the tasks that are not taken. Context::start()
/// makes the tasks, in one block of memory; in the run nothing is allocated. At its end every task is free, and stays
/// in memory until the next start or the end of the context, so that a program that still has one gets bad_state.
class TaskPool {
 public:
  TaskPool() = default;
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  /// doca_<library>_task_<kind>_set_conf. Throws invalid_value when a callback is missing or num_tasks is not in
  /// 1..limit; its message begins with what.
  void configure(std::string_view what, Task::Callback on_success, Task::Callback on_error, std::uint32_t num_tasks,
                 std::uint32_t limit);
  /// The number of the kind of its tasks in the library's table.
  std::uint8_t number() const noexcept { return number_; }
  void set_number(std::uint8_t number) noexcept { number_ = number; }
  /// 0: not configured.
  std::uint32_t num_tasks() const noexcept { return num_tasks_; }
  /// Its tasks complete without a callback from now on.
  void silence() noexcept {
    on_success_ = on_error_ = [](Task&, std::uint64_t, std::uint64_t) noexcept {};
  }
  /// Never null in a configured pool.
  Task::Callback callback(Status status) const noexcept { return status == Status::success ? on_success_ : on_error_; }

  /// Makes the tasks, each as T(context, *this, kind), in place of those of the last run.
  template <std::derived_from<Task> T, class C>
  void open(C& context, std::size_t kind) {
    block_.reset();
    auto block = std::make_unique<BlockOf<T>>(num_tasks_, context, *this, kind);
    for (std::uint32_t i = num_tasks_; i-- > 0;) {
      put(block->task(i));
    }
    block_ = std::move(block);
  }
  /// Frees the tasks that are taken, and gives none from now on.
  void close() noexcept {
    if (block_ != nullptr) {
      block_->retire();
    }
    free_ = nullptr;
  }

  /// The task that was put back last; null when all are taken, or none were made.
  Task* take() noexcept {
    Task* const task = free_;
    if (task != nullptr) [[likely]] {
      free_ = task->next_;
    }
    return task;
  }
  /// The same for a library's caller; null when there is none.
  Task* take(std::uint64_t user_data) noexcept {
    Task* const task = take();
    if (task != nullptr) [[likely]] {
      task->state_ = Task::State::idle;
      task->status_ = Status::success;
      task->user_data_ = user_data;
    }
    return task;
  }
  void put(Task& task) noexcept {
    task.next_ = free_;
    free_ = &task;
  }

 private:
  struct Block {
    virtual ~Block() = default;
    virtual void retire() noexcept = 0;
  };
  static void retire(Task& task) noexcept {
    task.state_ = Task::State::free;
    task.forget();
  }
  template <class T>
  class BlockOf final : public Block {
   public:
    template <class C>
    BlockOf(std::uint32_t count, C& context, TaskPool& pool, std::size_t kind)
        : storage_(static_cast<std::byte*>(::operator new(count * sizeof(T), std::align_val_t{alignof(T)}))) {
      for (; count_ < count; ++count_) {
        new (storage_.get() + count_ * sizeof(T)) T(context, pool, kind);
      }
    }
    ~BlockOf() override {
      for (std::uint32_t i = 0; i < count_; ++i) {
        task(i).~T();
      }
    }
    void retire() noexcept override {
      for (std::uint32_t i = 0; i < count_; ++i) {
        TaskPool::retire(task(i));
      }
    }
    BlockOf(const BlockOf&) = delete;
    BlockOf& operator=(const BlockOf&) = delete;
    T& task(std::uint32_t i) noexcept { return *std::launder(reinterpret_cast<T*>(storage_.get() + i * sizeof(T))); }

   private:
    struct Deallocate {
      void operator()(std::byte* storage) const noexcept { ::operator delete(storage, std::align_val_t{alignof(T)}); }
    };
    std::unique_ptr<std::byte, Deallocate> storage_;
    std::uint32_t count_ = 0;
  };

  Task::Callback on_success_ = nullptr;
  Task::Callback on_error_ = nullptr;
  std::uint32_t num_tasks_ = 0;
  std::uint8_t number_ = 0;
  Task* free_ = nullptr;
  std::unique_ptr<Block> block_;
};

/// What a library does with the tasks of its context, and the engine with what is left of them.
class ContextTasks {
 public:
  /// The pool of one kind, by the library's number of it.
  static TaskPool& pool(const Context& context, std::size_t kind) noexcept { return context.pools_[kind]; }
  /// The same as TaskPool::configure(), unless the context is not idle: throws bad_state then. what: "set memcpy conf".
  static void configure(Context& context, std::size_t kind, std::string_view what, Task::Callback on_success,
                        Task::Callback on_error, std::uint32_t num_tasks, std::uint32_t limit);
  /// Has the pools of all configured kinds make their tasks, each as T(context, pool, kind); returns how many kinds
  /// that are.
  template <std::derived_from<Task> T, std::derived_from<Context> C>
  static std::size_t open(C& context) {
    Context& base = context;
    std::size_t num_kinds = 0;
    for (std::size_t kind = 0; kind < base.num_pools_; ++kind) {
      if (base.pools_[kind].num_tasks() != 0) {
        base.pools_[kind].template open<T>(context, kind);
        ++num_kinds;
      }
    }
    return num_kinds;
  }
  /// Ends the use of the tasks of all kinds.
  static void close(Context& context) noexcept {
    for (std::size_t kind = 0; kind < context.num_pools_; ++kind) {
      context.pools_[kind].close();
    }
  }
  /// A task of a kind. bad_state unless running, no_memory when all tasks of the kind are taken or none is configured.
  template <std::derived_from<Task> T>
  static Status take(Context& context, std::size_t kind, std::uint64_t user_data, T*& task) noexcept {
    if (context.state_ != ContextState::running) [[unlikely]] {
      return Status::bad_state;
    }
    if (const Status thread = check_thread_of(context); thread != Status::success) [[unlikely]] {
      return thread;
    }
    Task* const taken = context.pools_[kind].take(user_data);
    if (taken == nullptr) [[unlikely]] {
      return Status::no_memory;
    }
    ++context.allocated_;
    task = static_cast<T*>(taken);
    return Status::success;
  }
  /// A task is back in its pool.
  static void freed(Context& context) noexcept {
    --context.allocated_;
    settle(context);
  }
  /// What a context's last reference does.
  static void drop(Context* context) noexcept;
  /// Neither the context nor its tasks call back from now on.
  static void silence(Context& context) noexcept;
  /// Asks for one more progress, which takes a stopping context to idle when every task is back.
  static void settle(Context& context) noexcept {
    if (context.state_ == ContextState::stopping && context.can_settle()) [[unlikely]] {
      context.request_progress();
    }
  }

 private:
  template <class Noun>
  friend class LibraryContext;
  static void set_node(Context& context, ContextNode& node) noexcept { context.node_ = &node; }
};

}  // namespace pydoca::detail

namespace pydoca {

/// Without a call, as a submission and a completion each record one event.
inline void Context::record(const Task& task, TraceEventKind kind, Status status, std::uint64_t begin,
                            std::uint64_t value) noexcept {
  const std::uint32_t name = trace_label_.index([this] { return add_trace_names(); }, detail::trace::generation());
  detail::trace::record(begin,
                        detail::trace::pack(kind, task.pool_->number(), static_cast<std::uint16_t>(status), name),
                        reinterpret_cast<std::uintptr_t>(&task), value);
}

template <std::derived_from<Task> T>
void Context::complete_as(T& task, Status status, bool fatal) noexcept {
  counts_.end();
  engine_counts_->end();
  task.state_ = Task::State::idle;
  task.status_ = status;
  task.finish(status);
  if (status != Status::success) [[unlikely]] {
    task_failed(task, status, fatal);
  }
  if (task.detour_ != 0) [[unlikely]] {
    complete_aside(task);
    return;
  }
  task.pool_->callback(status)(task, task.user_data_, user_data_);
}

}  // namespace pydoca

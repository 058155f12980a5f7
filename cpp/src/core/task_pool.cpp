#include "core/task_pool.hpp"

#include "pydoca/progress_engine.hpp"

#include "core/context_node.hpp"
#include "detail/concat.hpp"
#include "detail/drops.hpp"
#include "detail/ready_list.hpp"

namespace pydoca::detail {

void TaskPool::configure(std::string_view what, Task::Callback on_success, Task::Callback on_error,
                         std::uint32_t num_tasks, std::uint32_t limit) {
  if (on_success == nullptr || on_error == nullptr) {
    throw Error(Status::invalid_value, concat(what, ": both callbacks must be given; they may be the same function"));
  }
  if (num_tasks == 0 || num_tasks > limit) {
    throw Error(Status::invalid_value, concat(what, ": ", num_tasks, " tasks is not in 1..", limit));
  }
  on_success_ = on_success;
  on_error_ = on_error;
  num_tasks_ = num_tasks;
}

void ContextTasks::configure(Context& context, std::size_t kind, std::string_view what, Task::Callback on_success,
                             Task::Callback on_error, std::uint32_t num_tasks, std::uint32_t limit) {
  context.require_idle(concat(what, " of"));
  pool(context, kind).configure(what, on_success, on_error, num_tasks, limit);
}

void ContextTasks::drop(Context* context) noexcept {
  Drops without_engine;
  const auto& engine = context->progress_engine();
  (engine != nullptr ? engine->ready_list().drops() : without_engine).drop(*context->node_);
}

void ContextTasks::silence(Context& context) noexcept {
  context.state_changed_ = nullptr;
  for (std::size_t kind = 0; kind < context.num_pools_; ++kind) {
    context.pools_[kind].silence();
  }
}

}  // namespace pydoca::detail

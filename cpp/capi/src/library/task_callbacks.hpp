#pragma once

#include <doca_types.h>
#include <tuple>

namespace pydoca::capi {

/// What a C program wants to have called when a task of one kind has completed.
template <class CTask>
struct TaskCallbacks {
  using Function = void (*)(CTask* task, doca_data task_user_data, doca_data context_user_data);
  Function on_success = nullptr;
  Function on_error = nullptr;
};

/// Those of a library with these kinds of tasks.
template <class... CTask>
using CallbacksOf = std::tuple<TaskCallbacks<CTask>...>;

}  // namespace pydoca::capi

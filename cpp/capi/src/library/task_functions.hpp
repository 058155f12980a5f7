/// The functions of tasks in C: what the generated ones (generator/definitions.cpp) call.
#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/task.hpp"

#include "base/call.hpp"
#include "base/convert.hpp"
#include "base/objects.hpp"
#include "common/ctx.hpp"
#include "library/capabilities.hpp"
#include "library/task_callbacks.hpp"

#include <cstdint>
#include <doca_buf.h>
#include <doca_pe.h>
#include <doca_types.h>
#include <source_location>
#include <tuple>

namespace pydoca::capi {

/// The generator specialises it: Task is the engine's class of a task, and Library the object whose callbacks it has.
template <class CTask>
struct EngineOf;
template <class CTask>
using EngineTask = EngineOf<CTask>::Task;

// A task and a buf have the same address in both languages. The engine's objects stay where they are.

template <class CTask>
EngineTask<CTask>& engine_task(CTask& task) noexcept {
  return reinterpret_cast<EngineTask<CTask>&>(task);
}
template <class CTask>
const EngineTask<CTask>& engine_task(const CTask& task) noexcept {
  return reinterpret_cast<const EngineTask<CTask>&>(task);
}
template <class CTask>
doca_task* as_task(CTask* task) noexcept {
  return task != nullptr ? as_c(static_cast<Task*>(&engine_task(*task))) : nullptr;
}
inline Buf* buf_of(const doca_buf* buf) noexcept { return engine(const_cast<doca_buf*>(buf)); }
/// Where the engine puts a task that it hands out.
template <class CTask>
EngineTask<CTask>*& taken(CTask** task) noexcept {
  return reinterpret_cast<EngineTask<CTask>*&>(*task);
}

/// A line of the log that says why a task has failed: C programs have no other way to learn it. None for a task that
/// was flushed.
[[gnu::cold, gnu::noinline]] void log_failure(const Task& task) noexcept;

/// What the engine calls when a task has completed.
template <class CTask, bool succeeded>
void completed(Task& task, std::uint64_t task_data, std::uint64_t context_data) noexcept {
  if constexpr (!succeeded) {
    log_failure(task);
  }
  const auto& library = object_of<const typename EngineOf<CTask>::Library>(task.context());
  const auto& callbacks = std::get<TaskCallbacks<CTask>>(library.callbacks);
  (succeeded ? callbacks.on_success : callbacks.on_error)(
      reinterpret_cast<CTask*>(&static_cast<EngineTask<CTask>&>(task)), as_data(task_data), as_data(context_data));
}

/// A setter of a conf. configure(engine, on_success, on_error, number) sets the engine's.
template <class CTask, class Library, class Configure>
doca_error_t set_task_conf(const Call& call, Library* library, TaskCallbacks<CTask> callbacks, std::uint32_t number,
                           Configure configure) noexcept {
  if (!call.has(library)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  if (callbacks.on_success == nullptr || callbacks.on_error == nullptr) {
    return call.invalid("both callbacks must be given; they may be the same function");
  }
  return call.run([&] {
    configure(library->configured(), &completed<CTask, true>, &completed<CTask, false>, number);
    std::get<TaskCallbacks<CTask>>(library->callbacks) = callbacks;
  });
}

/// A number of tasks whose logarithm is given.
constexpr std::uint32_t count_of(std::uint8_t logarithm) noexcept {
  return logarithm < 32 ? std::uint32_t{1} << logarithm : UINT32_MAX;
}

/// objects: those that the task refers to.
template <class Library, class CTask, class... Object>
bool can_take(const Library* library, CTask* const* task, const Object*... objects) noexcept {
  return library != nullptr && library->is_alive() && task != nullptr && library->has_engine() &&
         ((objects != nullptr && objects->is_alive()) && ...);
}
/// The same for a task over a part of the library's object, such as a connection: a part alone knows whether that
/// lives.
template <class Library, PartOf<Library> Piece, class CTask, class... Object>
bool can_take(const Library* library, const Piece* part, CTask* const* task, const Object*... objects) noexcept {
  return part != nullptr && part->is_of(library) && task != nullptr &&
         ((objects != nullptr && objects->is_alive()) && ...);
}
/// The status for a call that lacks what can_take() asks for.
template <class Library, class CTask, class... Object>
[[gnu::cold, gnu::noinline]] doca_error_t refuse_to_take(std::source_location where, Library* library, CTask** task,
                                                         const Object*... objects) noexcept {
  const Call call(where);
  return call.has(library, task, objects...) ? call.refuse(Status::bad_state, "it is not a context yet")
                                             : DOCA_ERROR_INVALID_VALUE;
}
template <class Library, PartOf<Library> Piece, class... Argument>
[[gnu::cold, gnu::noinline]] doca_error_t refuse_to_take(std::source_location where, Library* library,
                                                         const Piece* part, const Argument*... arguments) noexcept {
  const Call call(where);
  return call.has(library, part, arguments...) ? call.invalid("the connection is another context's")
                                               : DOCA_ERROR_INVALID_VALUE;
}

[[gnu::cold]] doca_error_t refuse_change(Status status, std::source_location where) noexcept;

/// What a function that changes a task answers.
inline doca_error_t answer_change(Status status,
                                  std::source_location where = std::source_location::current()) noexcept {
  return status == Status::success ? DOCA_SUCCESS : refuse_change(status, where);
}

/// A setter of an operand: set(engine's task) answers a status.
template <class CTask, class Set>
doca_error_t set_operand(CTask* task, Set set, std::source_location where = std::source_location::current()) noexcept {
  return answer_change(task != nullptr ? set(engine_task(*task)) : Status::invalid_value, where);
}

}  // namespace pydoca::capi

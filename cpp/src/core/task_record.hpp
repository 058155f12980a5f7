#pragma once

#include "pydoca/context.hpp"

#include "core/task_pool.hpp"
#include "detail/trace/recorder.hpp"

#include <cstdint>

namespace pydoca {

/// What a trace has of a task: without a call, as a submission and a completion each record one event.
inline void Context::record(const Task& task, TraceEventKind kind, Status status, std::uint64_t begin,
                            std::uint64_t value) noexcept {
  const std::uint32_t name = trace_label_.index([this] { return add_trace_names(); }, detail::trace::generation());
  detail::trace::record(
      begin, detail::trace::pack(kind, task.pool_->number(), static_cast<std::uint16_t>(status), name),
      reinterpret_cast<std::uintptr_t>(&task), value);
}

}  // namespace pydoca

#pragma once

#include "pydoca/context.hpp"
#include "pydoca/progress_engine.hpp"

namespace pydoca::detail {

/// Checks that this is the thread of the context's engine. It stands in calls that run too often to look in each build:
/// without PYDOCA_CHECKS the answer is success in any thread, and the call costs nothing.
inline Status check_thread_of([[maybe_unused]] const Context& context) noexcept {
#ifdef PYDOCA_CHECKS
  if (context.progress_engine() != nullptr) {
    return context.progress_engine()->check_thread();
  }
#endif
  return Status::success;
}

}  // namespace pydoca::detail

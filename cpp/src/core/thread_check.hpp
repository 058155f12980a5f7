#pragma once

#include "pydoca/context.hpp"
#include "pydoca/progress_engine.hpp"

namespace pydoca::detail {

/// Whether this is the thread of the context's engine, for calls that run so often that others pay nothing to know: not
/// in builds without PYDOCA_CHECKS, where the answer is success in any thread.
inline Status check_thread_of([[maybe_unused]] const Context& context) noexcept {
#ifdef PYDOCA_CHECKS
  if (context.progress_engine() != nullptr) {
    return context.progress_engine()->check_thread();
  }
#endif
  return Status::success;
}

}  // namespace pydoca::detail

#pragma once

#include "pydoca/status.hpp"

namespace pydoca::benchmarks {

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse(Status status) {
  throw Error(status, "benchmark: a call that should have succeeded failed");
}

/// A benchmark that cannot do its work has no figure. The loops that are measured have this inside.
[[gnu::always_inline]] inline void require(Status status) {
  if (status != Status::success) [[unlikely]] {
    refuse(status);
  }
}

}  // namespace pydoca::benchmarks

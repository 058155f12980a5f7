#pragma once

#include "pydoca/status.hpp"

#include "detail/concat.hpp"

namespace pydoca::verbs {

/// The status for an errno of the library or the kernel.
Status status_of(int error) noexcept;
/// "Cannot allocate memory"; for the common errors also what to do.
std::string describe_error(int error);

/// Throws for an errno; the pieces say what was attempted.
template <class... Pieces>
[[noreturn]] void fail(int error, const Pieces&... what) {
  throw Error(status_of(error), detail::concat(what..., ": ", describe_error(error)));
}

}  // namespace pydoca::verbs

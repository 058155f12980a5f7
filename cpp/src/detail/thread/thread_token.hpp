#pragma once

#include <cstdint>

namespace pydoca::detail {

/// A number that no other thread of this process, living or dead, has, and that changes in a forked child. Never 0, nor
/// no_thread.
/// initial-exec and constinit: the fast path reads it for every task, and a call into the dynamic TLS resolver or to an
/// initialiser would cost more than the check is worth.
extern thread_local constinit std::uint64_t thread_token_value __attribute__((tls_model("initial-exec")));

std::uint64_t assign_thread_token() noexcept;

inline std::uint64_t thread_token() noexcept {
  return thread_token_value != 0 ? thread_token_value : assign_thread_token();
}

inline constexpr std::uint64_t no_thread = UINT64_MAX;

/// Whether token is the calling thread's; one comparison: before its first token a thread has 0, which is not a token.
inline bool is_this_thread(std::uint64_t token) noexcept { return token == thread_token_value; }

/// Counts the forks that led to this process; an object made under another count belongs to an ancestor.
std::uint32_t fork_count() noexcept;

}  // namespace pydoca::detail

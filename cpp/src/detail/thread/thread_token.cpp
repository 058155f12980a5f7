#include "detail/thread/thread_token.hpp"

#include <atomic>
#include <pthread.h>

namespace pydoca::detail {

namespace {

std::atomic<std::uint64_t> last_token{0};
std::atomic<std::uint32_t> forks{0};

void after_fork_in_child() {
  thread_token_value = 0;
  forks.fetch_add(1, std::memory_order_relaxed);
}

const int registered = pthread_atfork(nullptr, nullptr, after_fork_in_child);

}  // namespace

thread_local constinit std::uint64_t thread_token_value = 0;

std::uint64_t assign_thread_token() noexcept {
  static_cast<void>(registered);
  thread_token_value = last_token.fetch_add(1, std::memory_order_relaxed) + 1;
  return thread_token_value;
}

std::uint32_t fork_count() noexcept { return forks.load(std::memory_order_relaxed); }

}  // namespace pydoca::detail

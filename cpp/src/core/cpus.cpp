#include "pydoca/cpus.hpp"

#include <sched.h>

namespace pydoca {

namespace {

constexpr unsigned calls_between_questions = 16;

thread_local constinit Cpus known;
thread_local constinit unsigned calls_left = 0;

Cpus ask_system() noexcept {
  cpu_set_t cpus;
  if (::sched_getaffinity(0, sizeof(cpus), &cpus) != 0 || CPU_COUNT(&cpus) != 1) {
    return Cpus::several();
  }
  unsigned number = 0;
  while (CPU_ISSET(number, &cpus) == 0) {
    ++number;
  }
  return Cpus::only(number);
}

}  // namespace

Cpus own_cpus() noexcept {
  if (calls_left == 0) {
    static_cast<void>(ask_own_cpus());
  }
  --calls_left;
  return known;
}

Cpus ask_own_cpus() noexcept {
  calls_left = calls_between_questions;
  return known = ask_system();
}

bool has_one_cpu() noexcept { return !ask_system().are_several(); }

}  // namespace pydoca

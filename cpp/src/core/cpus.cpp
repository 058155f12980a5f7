#include "pydoca/cpus.hpp"

#include <sched.h>

namespace pydoca {

bool has_one_cpu() noexcept {
  cpu_set_t cpus;
  return ::sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) == 1;
}

}  // namespace pydoca

#pragma once

#include <gtest/gtest.h>

#include <sched.h>
#include <thread>
#include <vector>

namespace pydoca {

/// The CPUs that this thread may run on.
inline std::vector<unsigned> usable_cpus() {
  cpu_set_t mask;
  EXPECT_EQ(::sched_getaffinity(0, sizeof(mask), &mask), 0);
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &mask) != 0) {
      cpus.push_back(cpu);
    }
  }
  return cpus;
}

inline void pin_to(const std::vector<unsigned>& cpus) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const unsigned cpu : cpus) {
    CPU_SET(cpu, &mask);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof(mask), &mask), 0);
}

/// Runs body in a thread of its own that may run on that CPU only.
template <class Body>
void run_pinned(unsigned cpu, Body body) {
  std::thread([&] {
    pin_to({cpu});
    body();
  }).join();
}

}  // namespace pydoca

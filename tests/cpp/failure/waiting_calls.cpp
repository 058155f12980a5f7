// Stands before the system's calls that can wait, and counts those of a thread with a WaitCount.
#include "failure/waiting_calls.hpp"

#include <ctime>
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

namespace {

struct Waits {
  bool counted = false;
  std::uint64_t sleeps = 0;
  std::uint64_t yields = 0;
  const char* last = "";
};
thread_local Waits waits;

template <class Function>
Function* next(const char* name) noexcept {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void note(const char* name, bool can_sleep = true) noexcept {
  if (waits.counted && can_sleep) {
    ++waits.sleeps;
    waits.last = name;
  }
}

}  // namespace

namespace pydoca::failure {

WaitCount::WaitCount() noexcept { waits = {.counted = true}; }
WaitCount::~WaitCount() { waits.counted = false; }
std::uint64_t WaitCount::sleeps() const noexcept { return waits.sleeps; }
std::uint64_t WaitCount::yields() const noexcept { return waits.yields; }
const char* WaitCount::last() const noexcept { return waits.last; }

}  // namespace pydoca::failure

extern "C" {

int poll(pollfd* files, nfds_t count, int timeout) {
  static auto* const real = next<int(pollfd*, nfds_t, int)>("poll");
  note("poll", timeout != 0);
  return real(files, count, timeout);
}

int epoll_wait(int epoll, epoll_event* events, int size, int timeout) {
  static auto* const real = next<int(int, epoll_event*, int, int)>("epoll_wait");
  note("epoll_wait", timeout != 0);
  return real(epoll, events, size, timeout);
}

int nanosleep(const timespec* time, timespec* left) {
  static auto* const real = next<int(const timespec*, timespec*)>("nanosleep");
  note("nanosleep");
  return real(time, left);
}

int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  static auto* const real = next<int(clockid_t, int, const timespec*, timespec*)>("clock_nanosleep");
  note("clock_nanosleep");
  return real(clock, flags, time, left);
}

int usleep(useconds_t time) {
  static auto* const real = next<int(useconds_t)>("usleep");
  note("usleep");
  return real(time);
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  static auto* const real = next<int(pthread_cond_t*, pthread_mutex_t*)>("pthread_cond_wait");
  note("pthread_cond_wait");
  return real(condition, mutex);
}

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* time) {
  static auto* const real =
      next<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)>("pthread_cond_clockwait");
  note("pthread_cond_clockwait");
  return real(condition, mutex, clock, time);
}

int sched_yield() noexcept {
  static auto* const real = next<int()>("sched_yield");
  waits.yields += waits.counted ? 1 : 0;
  return real();
}

}  // extern "C"

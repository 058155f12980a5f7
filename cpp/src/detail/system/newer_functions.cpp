// Functions of the C library that glibc 2.28 did not have yet, made of what it had (PYDOCA_OLDER_LIBRARIES).
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr std::int64_t second = 1'000'000'000;

std::int64_t nanoseconds(const timespec& time) { return time.tv_sec * second + time.tv_nsec; }

std::int64_t now(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return nanoseconds(time);
}

// Until glibc 2.30 a condition waits by one clock, unless told otherwise when it was made: the wall clock.
int wait_by_wall_clock(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  const std::int64_t end = now(CLOCK_REALTIME) + nanoseconds(*until) - now(clock);
  const timespec wall{.tv_sec = end / second, .tv_nsec = end % second};
  return ::pthread_cond_timedwait(condition, mutex, &wall);
}

using ClockWait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);

ClockWait find_clock_wait() {
  void* const found = ::dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
  return found != nullptr ? reinterpret_cast<ClockWait>(found) : wait_by_wall_clock;
}

}  // namespace

#pragma GCC visibility push(hidden)
extern "C" {

// False makes libstdc++ count references by atomic operations, which is also right with one thread.
char __libc_single_threaded = 0;

int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* until) {
  static const ClockWait clock_wait = find_clock_wait();
  return clock_wait(condition, mutex, clock, until);
}

pid_t gettid() noexcept { return static_cast<pid_t>(::syscall(SYS_gettid)); }

// The static libstdc++ of newer GCCs asks it for random numbers. So few bytes come whole.
std::uint32_t arc4random() noexcept {
  std::uint32_t number = 0;
  if (::syscall(SYS_getrandom, &number, sizeof number, 0) != sizeof number) {
    std::abort();
  }
  return number;
}

// The C library's struct is the kernel's on 64-bit machines.
int fstatat(int directory, const char* path, struct stat* result, int flags) noexcept {
  return static_cast<int>(::syscall(SYS_newfstatat, directory, path, result, flags));
}
int stat(const char* path, struct stat* result) noexcept { return ::fstatat(AT_FDCWD, path, result, 0); }
int lstat(const char* path, struct stat* result) noexcept {
  return ::fstatat(AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW);
}
int fstat(int file, struct stat* result) noexcept { return static_cast<int>(::syscall(SYS_fstat, file, result)); }
int fstat64(int file, struct stat64* result) noexcept { return static_cast<int>(::syscall(SYS_fstat, file, result)); }

}  // extern "C"
#pragma GCC visibility pop

#pragma once

#include <chrono>
#include <cstdint>

#pragma GCC visibility push(default)

/// Virtual time of this process, for simulated devices: it stands still while a thread runs, and moves to the next
/// moment at which something is due once all threads wait. Hours pass in milliseconds, and a run depends on the program
/// and the seed alone.
namespace pydoca::sim {

/// What ended a wait by virtual time.
enum class Wake : std::uint8_t {
  ready,        ///< the descriptor is readable
  due,          ///< the moment has come
  interrupted,  ///< a signal wants the thread
  stuck,        ///< no thread that takes part can ever go on
  ended         ///< the process has no virtual time
};

struct VirtualTimeOptions {
  std::uint64_t seed = 0;  ///< decides which thread runs where several could
  /// Real time in which threads and processes that do not take part may let one of the threads go on, before these are
  /// told that they are stuck.
  std::chrono::nanoseconds outside{0};
};

/// The process has virtual time as long as it lives.
///
/// A thread takes part from its first wait in virtual time - of the engine, for a sync event, of a loop - until it ends
/// or leaves. One of those that take part runs at a time. A thread that takes part must not wait for another one by
/// other means, such as a mutex: leave() before, join() afterwards. Make engines and devices within virtual time, and
/// end them before it ends. Other processes have real time, a child that this one forks among them.
class VirtualTime {
 public:
  /// Throws bad_state when the process has virtual time already.
  explicit VirtualTime(const VirtualTimeOptions& options);
  ~VirtualTime();
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;

  static bool is_on() noexcept;
  /// Nanoseconds; it begins at one second. It is CLOCK_MONOTONIC without virtual time.
  static std::chrono::nanoseconds now() noexcept;
  /// Returns at that moment at the latest, or when fd, unless it is negative, is readable.
  static Wake wait(int fd, std::chrono::nanoseconds until) noexcept;
  /// For a thread that looks for something again and again, apart from ProgressEngine::progress(), which does so
  /// itself: lets others run, and time move when all of them only look. work changes when the thread has done
  /// something.
  static void look_in_vain(std::uint64_t work) noexcept;
  /// Takes part, and returns when it is this thread's turn.
  static Wake join() noexcept;
  static void leave() noexcept;
  static std::uint64_t num_threads() noexcept;
  /// All decisions and moments so far, as one number. Equal runs have equal ones.
  static std::uint64_t digest() noexcept;
};

}  // namespace pydoca::sim

#pragma GCC visibility pop

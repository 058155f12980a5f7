#pragma once

#include "pydoca/virtual_time.hpp"

#include "detail/intrusive_list.hpp"
#include "detail/thread/per_process.hpp"
#include "detail/time/alarm.hpp"
#include "detail/time/time.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <random>
#include <utility>

namespace pydoca::detail {

/// Time that moves only when nothing else can happen. The threads that wait by it take part: one of them runs at a
/// time, and goes on until it waits. Where several could run, the seed decides. Where none can, time moves to the next
/// moment for which a thread or an alarm waits. A run therefore depends on the program and the seed alone, as long as
/// all threads that matter take part.
class VirtualClock {
 public:
  /// What a thread waits for. Whichever thread decides on the next turn looks at it.
  class Condition {
   public:
    virtual bool holds() noexcept = 0;

   protected:
    ~Condition() = default;
  };

  using Wake = sim::Wake;
  using Options = sim::VirtualTimeOptions;

  static constexpr std::uint64_t first_moment = 1'000'000'000;
  /// What a look in vain takes at least.
  static constexpr std::uint64_t look_time = 100;

  /// Never destroyed. A forked child has another one, and real time.
  static VirtualClock& instance();

  /// False when the process has virtual time already.
  bool begin(const Options& options) noexcept;
  /// Real time from now on. All alarms fire, and all waits end.
  void end() noexcept;

  /// The thread takes part from its first wait or join() until it leaves or ends. A null condition never holds.
  Wake wait(Condition* condition, std::uint64_t until) noexcept;
  /// For a thread that looks again and again: the look took some time, the more the longer it has looked, but none that
  /// would bring it past the next alarm. work: changes when the thread has done something since its last call.
  void look_in_vain(std::uint64_t work) noexcept;
  /// Returns when it is this thread's turn.
  Wake join() noexcept;
  void leave() noexcept;
  /// Whether this thread takes part, and has its turn.
  bool is_running() noexcept;
  std::uint64_t num_participants() noexcept;

  /// Has the alarm called at that moment; at once, if it has passed or time is real.
  void add(Alarm& alarm, std::uint64_t due) noexcept;
  void remove(Alarm& alarm) noexcept;

  /// settle is called before threads are looked at: it waits for what other threads have under way.
  void set_settle(void (*settle)() noexcept) noexcept { settle_.store(settle); }
  /// All decisions and moments since begin(), as one number. Equal runs have equal ones.
  std::uint64_t digest() noexcept;

 private:
  using Lock = std::unique_lock<std::mutex>;

  /// A thread that takes part.
  struct Participant {
    std::condition_variable wake_up;
    bool is_waiting = false;
    Wake wake = Wake::ready;
    Condition* condition = nullptr;
    std::uint64_t until = never;
    std::uint64_t work = 0;
    std::uint64_t looks_since = 0;  ///< 0: it does not look
    std::uint64_t number = 0;       ///< 0: it does not take part
    Participant* next = nullptr;
    Participant* prev = nullptr;

    bool can_run(std::uint64_t moment) noexcept;
  };
  class ThisThread;
  friend class PerProcess<VirtualClock>;

  VirtualClock() = default;
  static void after_fork_in_child() noexcept;
  static Participant& this_thread() noexcept;
  void enter(Participant& self) noexcept;
  Wake wait_for_turn(Lock& lock, Participant& self, Condition* condition, std::uint64_t until) noexcept;
  bool sleep(Lock& lock, Participant& self) const noexcept;
  bool give_turn() noexcept;
  bool give_turn_to_one() noexcept;
  bool move_on() noexcept;
  std::uint64_t next_alarm() const noexcept;
  void note(std::uint64_t value) noexcept { digest_ = (digest_ ^ value) * 0x100000001b3U + (digest_ >> 29U); }

  void fire_due() noexcept;
  template <class Function>
  void for_each_participant(const Function& function) noexcept {
    for (Participant* participant = participants_.front(); participant != nullptr; participant = participant->next) {
      function(*participant);
    }
  }

  std::mutex mutex_;
  Options options_;
  std::mt19937_64 random_{0};  // NOLINT(bugprone-random-generator-seed): begin() gives it the seed
  std::uint64_t digest_ = 0;
  std::uint64_t last_number_ = 0;
  IntrusiveList<Alarm, &Alarm::next_, &Alarm::prev_> alarms_;  ///< the alarms that are set
  IntrusiveList<Participant, &Participant::next, &Participant::prev> participants_;
  std::uint64_t num_participants_ = 0;
  Participant* running_ = nullptr;
  std::atomic<void (*)() noexcept> settle_{nullptr};
};

}  // namespace pydoca::detail

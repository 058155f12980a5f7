#include "detail/time/virtual_clock.hpp"

#include "pydoca/interrupt.hpp"

#include <algorithm>
#include <pthread.h>

namespace pydoca::detail {

using Wake = VirtualClock::Wake;

/// The thread's place in the clock, which it gives up when it ends.
class VirtualClock::ThisThread {
 public:
  ThisThread() = default;
  ~ThisThread() { instance().leave(); }
  ThisThread(const ThisThread&) = delete;
  ThisThread& operator=(const ThisThread&) = delete;

  Participant participant;
};

VirtualClock::Participant& VirtualClock::this_thread() noexcept {
  thread_local ThisThread thread;
  return thread.participant;
}

bool VirtualClock::Participant::can_run(std::uint64_t moment) noexcept {
  if (!is_waiting) {
    return false;
  }
  if (condition != nullptr && condition->holds()) {
    wake = Wake::ready;
    return true;
  }
  wake = Wake::due;
  return until <= moment;
}

VirtualClock& VirtualClock::instance() { return PerProcess<VirtualClock>::instance(); }

/// The parent's other threads and its lock are not there. This thread, if it takes part, is of the parent's clock.
void VirtualClock::after_fork_in_child() noexcept {
  if (is_time_virtual()) {
    clock_number.fetch_add(1);
    virtual_seed.store(0);
    virtual_now.store(0);
    this_thread().number = 0;
  }
}

bool VirtualClock::begin(const Options& options) noexcept {
  static const int hooked = ::pthread_atfork(nullptr, nullptr, after_fork_in_child);
  const Lock lock(mutex_);
  if (is_time_virtual()) {
    return false;
  }
  static_cast<void>(hooked);
  options_ = options;
  random_.seed(options.seed);
  digest_ = 0;
  last_number_ = 0;
  clock_number.fetch_add(1);
  virtual_seed.store(options.seed);
  virtual_now.store(first_moment);
  return true;
}

void VirtualClock::end() noexcept {
  const Lock lock(mutex_);
  if (!is_time_virtual()) {
    return;
  }
  clock_number.fetch_add(1);
  virtual_seed.store(0);
  virtual_now.store(0);
  while (Alarm* const alarm = alarms_.front()) {
    alarms_.remove(*alarm);
    alarm->due_ = never;
    alarm->fire();
  }
  while (Participant* const participant = participants_.front()) {
    participants_.remove(*participant);
    participant->number = 0;
    participant->wake_up.notify_one();
  }
  num_participants_ = 0;
  running_ = nullptr;
}

std::uint64_t VirtualClock::digest() noexcept {
  const Lock lock(mutex_);
  return digest_;
}

bool VirtualClock::is_running() noexcept {
  const Lock lock(mutex_);
  return is_time_virtual() && running_ == &this_thread();
}

std::uint64_t VirtualClock::num_participants() noexcept {
  const Lock lock(mutex_);
  return num_participants_;
}

Wake VirtualClock::wait(Condition* condition, std::uint64_t until) noexcept {
  Participant& self = this_thread();
  Lock lock(mutex_);
  if (!is_time_virtual()) {
    return Wake::ended;
  }
  enter(self);
  self.looks_since = 0;
  return wait_for_turn(lock, self, condition, until);
}

void VirtualClock::look_in_vain(std::uint64_t work) noexcept {
  Participant& self = this_thread();
  Lock lock(mutex_);
  if (!is_time_virtual()) {
    return;
  }
  enter(self);
  if (self.looks_since == 0 || std::exchange(self.work, work) != work) {
    self.looks_since = now();
  }
  const std::uint64_t step = std::max(look_time, (now() - self.looks_since) / 16);
  wait_for_turn(lock, self, nullptr, std::min(now() + step, next_alarm()));
}

Wake VirtualClock::join() noexcept { return wait(nullptr, 0); }

void VirtualClock::leave() noexcept {
  Participant& self = this_thread();
  const Lock lock(mutex_);
  if (self.number == 0) {
    return;
  }
  participants_.remove(self);
  --num_participants_;
  self.number = 0;
  if (running_ == &self) {
    running_ = nullptr;
    give_turn();
  }
}

void VirtualClock::enter(Participant& self) noexcept {
  if (self.number == 0) {
    self.number = ++last_number_;
    self.looks_since = 0;
    participants_.push_back(self);
    ++num_participants_;
  } else if (running_ == &self) {
    running_ = nullptr;
  }
}

Wake VirtualClock::wait_for_turn(Lock& lock, Participant& self, Condition* condition, std::uint64_t until) noexcept {
  self.condition = condition;
  self.until = until;
  self.is_waiting = true;
  std::uint64_t stuck_since = never;
  bool is_interrupted = false;
  while (is_time_virtual() && running_ != &self && !is_interrupted) {
    if (running_ != nullptr || give_turn()) {
      stuck_since = never;
    } else {
      stuck_since = std::min(stuck_since, monotonic_now());
      if (monotonic_now() - stuck_since >= static_cast<std::uint64_t>(options_.outside.count())) {
        running_ = &self;
        self.wake = Wake::stuck;
      }
    }
    if (running_ != &self) {
      is_interrupted = sleep(lock, self);
    }
  }
  self.is_waiting = false;
  if (!is_time_virtual()) {
    return Wake::ended;
  }
  return is_interrupted ? Wake::interrupted : self.wake;
}

/// Sleeps until it may be this thread's turn. Answers whether a signal wants the thread.
bool VirtualClock::sleep(Lock& lock, Participant& self) const noexcept {
  self.wake_up.wait_for(lock, running_ == nullptr ? std::chrono::milliseconds(1) : interrupt_slice);
  lock.unlock();
  const bool is_interrupted = interrupted();
  lock.lock();
  return is_interrupted;
}

/// Whether a thread runs now.
bool VirtualClock::give_turn() noexcept {
  do {
    if (auto* const settle = settle_.load()) {
      settle();
    }
    if (give_turn_to_one()) {
      return true;
    }
  } while (move_on());
  return false;
}

bool VirtualClock::give_turn_to_one() noexcept {
  std::uint64_t count = 0;
  Participant* chosen = nullptr;
  for_each_participant([&](Participant& participant) {
    // Each of those that could run has the same chance, whatever their number.
    if (participant.can_run(now()) && random_() % ++count == 0) {
      chosen = &participant;
    }
  });
  if (chosen == nullptr) {
    return false;
  }
  running_ = chosen;
  note(chosen->number);
  chosen->wake_up.notify_one();
  return true;
}

std::uint64_t VirtualClock::next_alarm() const noexcept {
  std::uint64_t moment = never;
  for (const Alarm* alarm = alarms_.front(); alarm != nullptr; alarm = alarm->next_) {
    moment = std::min(moment, alarm->due_);
  }
  return moment;
}

/// False when nothing is due any more.
bool VirtualClock::move_on() noexcept {
  std::uint64_t moment = next_alarm();
  for_each_participant([&](const Participant& participant) {
    moment = std::min(moment, participant.is_waiting ? participant.until : never);
  });
  if (moment == never) {
    return false;
  }
  virtual_now.store(std::max(moment, now()));
  note(now());
  fire_due();
  return true;
}

void VirtualClock::fire_due() noexcept {
  for (Alarm* alarm = alarms_.front(); alarm != nullptr;) {
    Alarm* const next = alarm->next_;
    if (alarm->due_ <= now()) {
      alarms_.remove(*alarm);
      alarm->due_ = never;
      alarm->fire();
    }
    alarm = next;
  }
}

void VirtualClock::add(Alarm& alarm, std::uint64_t due) noexcept {
  const Lock lock(mutex_);
  if (!is_time_virtual() || due <= now()) {
    alarm.fire();
    return;
  }
  alarm.clock_ = this;
  alarm.due_ = due;
  alarms_.push_back(alarm);
}

void VirtualClock::remove(Alarm& alarm) noexcept {
  if (alarm.clock_ != this) {
    return;
  }
  const Lock lock(mutex_);
  if (std::exchange(alarm.due_, never) != never) {
    alarms_.remove(alarm);
  }
}

}  // namespace pydoca::detail

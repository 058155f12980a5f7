#include "engine/awaitable.hpp"

#include <pydoca/virtual_time.hpp>

#include "convert/convert.hpp"
#include "convert/python.hpp"
#include "engine/engine_object.hpp"
#include "loop/blocking_call.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <poll.h>
#include <utility>

namespace pydoca::bindings {

using Steady = std::chrono::steady_clock;

namespace {

/// The longest delay for Python's signal handlers, and for threads that want the GIL.
constexpr std::chrono::milliseconds slice{10};
constexpr std::size_t batch_size = 64;
/// What announces itself by descriptors waits no longer, whatever else there is to do.
constexpr std::chrono::microseconds between_descriptors{200};

void run_signal_handlers() {
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

/// One blocking wait: its condition, its end, and the time at which Python's signals and threads last ran.
class Wait {
 public:
  Wait(EngineObject& engine, std::optional<double> timeout, const std::function<std::string()>& what)
      : engine_(engine), what_(what), timeout_(timeout.value_or(0)) {
    // A longer time would overflow when it is added to another.
    if (timeout && *timeout < 1e9) {
      end_ = now_ + std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(*timeout));
    }
  }

  void until(const std::function<bool()>& done) {
    if (sim::VirtualTime::is_on()) return until_in_virtual_time(done);
    while (!done()) {
      const bool advanced = deliver() || engine_.assist();
      now_ = Steady::now();
      if (now_ >= next_descriptors_) ask_for_descriptors();
      if (advanced) {
        end_look();
        if (sharing_.is_due(now_)) sharing_.give_way();
      } else if (!looks_on()) {
        sleep();
      }
      if (now_ >= end_ && !done() && (engine_.drain(batch_size) == 0 || !done())) raise_time_out();
    }
    if (!has_asked_) ask_for_descriptors();  // beside an operation that is not done at once, it costs little
  }

 private:
  /// Has the next look ask for descriptors.
  void ask_for_descriptors() noexcept {
    engine_.engine().look_at_descriptors();
    next_descriptors_ = now_ + between_descriptors;
    has_asked_ = true;
  }

  void until_in_virtual_time(const std::function<bool()>& done) {
    const auto now = sim::VirtualTime::now();
    const auto end = end_ == Steady::time_point::max() ? std::chrono::nanoseconds::max() : now + (end_ - now_);
    while (!done()) {
      if (engine_.drain(batch_size) != 0) continue;
      engine_.engine().request_notification();
      sim::Wake wake{};
      const int handle = engine_.engine().notification_handle();
      call_blocking([&] { wake = sim::VirtualTime::wait(handle, end); });
      engine_.engine().clear_notification();
      run_signal_handlers();
      if (wake == sim::Wake::stuck) raise_stuck(what_());
      if (wake == sim::Wake::due && engine_.drain(batch_size) == 0 && !done()) raise_time_out();
    }
  }

  /// What descriptors announce costs a system call, and would end a sleep at once: only looks ask for it.
  bool deliver() {
    has_asked_ = has_asked_ || look_ == Look::on;
    return engine_.drain(batch_size, look_ == Look::on ? Sources::all : Sources::listed) != 0;
  }

  void raise_time_out() const {
    raise(Status::time_out, format_text("{}: the timeout has passed ({} s)", to_str(what_()), timeout_));
  }

  /// Something has advanced: the next look in vain begins a new stretch of looks.
  void end_look() noexcept {
    if (look_ == Look::on) engine_.patience().hit();
    look_ = Look::none;
  }
  /// Whether it looks again, after one in vain, instead of sleeping.
  bool looks_on() noexcept {
    if (look_ == Look::none) {
      const bool may_pay = engine_.engine().may_advance_elsewhere();
      const Patience::Duration length = may_pay ? engine_.patience().next() : Patience::Duration::zero();
      look_ = length > Patience::Duration::zero() ? Look::on : Look::over;
      look_end_ = now_ + length;
    }
    if (look_ == Look::on && now_ >= look_end_) {
      engine_.patience().miss();
      look_ = Look::over;
    }
    return look_ == Look::on;
  }

  // Arming and disarming read lists that threads with the GIL may change; only the sleep releases the GIL.
  void sleep() {
    const auto left = std::min<Steady::duration>(slice, end_ - now_);
    if (left > Steady::duration::zero()) {
      engine_.engine().request_notification();
      sleep_for(left);
      engine_.engine().clear_notification();
    }
    ask_for_descriptors();
    run_signal_handlers();
    const auto fell_asleep = std::exchange(now_, Steady::now());
    sharing_.was_away(fell_asleep, now_);
  }

  void sleep_for(Steady::duration time) const {
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    const timespec limit{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
    pollfd handle{.fd = engine_.engine().notification_handle(), .events = POLLIN, .revents = 0};
    bool woken = false;
    call_blocking([&] { woken = ::ppoll(&handle, 1, &limit, nullptr) != 0; });
    if (!woken) drain_log();  // the wait is long: what the engine says meanwhile may tell why
  }

  EngineObject& engine_;
  const std::function<std::string()>& what_;
  double timeout_;  ///< in seconds, for the message
  Steady::time_point now_ = Steady::now();
  Steady::time_point end_ = Steady::time_point::max();
  Steady::time_point next_descriptors_ = now_ + between_descriptors;
  bool has_asked_ = false;  ///< for descriptors, in this wait
  enum class Look : std::uint8_t { none, on, over };
  Look look_ = Look::none;
  Steady::time_point look_end_;
  GilSharing sharing_;
};

void require_timeout(std::optional<double> timeout, const std::function<std::string()>& what) {
  if (timeout && !(*timeout >= 0)) {
    raise(Status::invalid_value,
          format_text("{}: timeout is in seconds, 0 or more, or None for no limit, not {}", to_str(what()), *timeout));
  }
}

/// Delivers what is there. Many waits need no more, and no clock.
bool is_done_at_once(EngineObject& engine, const std::function<bool()>& done) {
  return done() || (!sim::VirtualTime::is_on() && engine.drain(batch_size, Sources::listed) != 0 && done());
}

}  // namespace

void Waiters::discard(const py::object& future) {
  std::erase_if(futures_, [&](const py::object& other) { return other.is(future); });
}

void Waiters::wake(Deliveries& engine, const py::object& result) {
  for (const py::object& future : std::exchange(futures_, {})) {
    engine.wake_later(future, result);
  }
}

void block_until(EngineObject& engine, const std::function<bool()>& done, std::optional<double> timeout,
                 const std::function<std::string()>& what) {
  if (!engine.is_progressable()) [[unlikely]] {
    engine.require_progressable(what());
  }
  require_timeout(timeout, what);
  // The wait disarms a handle that was armed for an event loop. However the wait ends, the loop needs a turn.
  try {
    if (is_done_at_once(engine, done)) {
      engine.engine().count_long_operation();
    } else {
      Wait(engine, timeout, what).until(done);
    }
  } catch (...) {
    engine.turn().kick();
    throw;
  }
  engine.turn().kick();
  drain_log();
}

py::object Awaitable::wait(std::optional<double> timeout) {
  use();
  try {
    block_until(engine(), [this] { return ready(); }, timeout, [this] { return std::string(what()); });
  } catch (...) {
    give_up();
    throw;
  }
  return take();
}

}  // namespace pydoca::bindings

#include "engine/loop_turn.hpp"

#include <pydoca/virtual_time.hpp>

#include "convert/convert.hpp"
#include "convert/python.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace pydoca::bindings {

namespace {

using namespace std::chrono_literals;

constexpr std::array<std::string_view, 3> latency_names{"low", "balanced", "power"};

constexpr std::chrono::microseconds real_budget{100};
/// Limits how often the budget is renewed: the loop's own turn has more work, such as passing on the log.
constexpr std::chrono::milliseconds longest_turn{10};
constexpr std::chrono::microseconds polling{200};
/// With low latency, an await looks for this long while the loop has nothing else to do.
constexpr std::chrono::milliseconds longest_at_low_latency{2};
/// The most completions that one turn of an event loop delivers.
constexpr std::size_t turn_max = 256;
/// Reads the clock once per this number of operations that complete at once.
constexpr unsigned often = 16;
/// Sources that announce themselves by descriptors wait no longer than this and one turn, whatever completes beside.
constexpr auto real_between_descriptors = 200us;

bool never_looks(Latency latency) noexcept { return latency == Latency::power || sim::VirtualTime::is_on(); }

Patience::Duration longest_spinning(Latency latency) noexcept {
  if (never_looks(latency)) {
    return 0us;
  }
  return latency == Latency::low ? Patience::Duration(longest_at_low_latency) : real_budget;
}

Patience::Duration longest_polling(Latency latency) noexcept { return never_looks(latency) ? 0us : polling; }

/// While it lives, the engine's handle reports what arrives.
class Armed : NotCopied {
 public:
  explicit Armed(ProgressEngine& engine) : engine_(engine) { engine_.request_notification(); }
  ~Armed() { engine_.clear_notification(); }

 private:
  ProgressEngine& engine_;
};

}  // namespace

Latency parse_latency(const std::optional<std::string>& name) {
  const char* const from_environment = std::getenv("PYDOCA_LATENCY");
  const bool is_set = from_environment != nullptr && *from_environment != '\0';
  const std::string word = name.value_or(is_set ? from_environment : "balanced");
  const auto* const found = std::ranges::find(latency_names, word);
  if (found == latency_names.end()) {
    raise(Status::invalid_value,
          std::string(name ? "latency" : "PYDOCA_LATENCY") + " is \"" + word + "\"; there are: low, balanced, power");
  }
  return static_cast<Latency>(found - latency_names.begin());
}

std::string_view name_of(Latency latency) noexcept { return latency_names[static_cast<std::size_t>(latency)]; }

Rhythm Rhythm::now() noexcept {
  return sim::VirtualTime::is_on() ? Rhythm{} : Rhythm{real_budget, real_between_descriptors};
}

LoopTurn::LoopTurn(Deliveries& engine, Latency latency)
    : engine_(engine),
      latency_(latency),
      rhythm_(Rhythm::now()),
      spinning_(longest_spinning(latency), latency == Latency::low),
      polling_(longest_polling(latency), latency == Latency::low) {}

void LoopTurn::enter_loop(const py::object& loop, const py::object& engine) {
  loop_.enter(loop);
  if (!method_) method_ = engine.attr("_turn");
}

void LoopTurn::kick() {
  if (!due_) due_ = loop_.call_soon(method_);
}

void LoopTurn::run(bool woken) {
  due_ = {};
  bool again = true;
  try {
    again = take(woken);
  } catch (const py::error_already_set& error) {
    // No delivery is lost, and the loop may continue, even after KeyboardInterrupt.
    if (!is_docas(error)) kick();
    throw;
  }
  if (again) {
    kick();
  } else {
    drain_log();
  }
}

void LoopTurn::left_loop() {
  const py::object due = std::exchange(due_, {});
  method_ = {};
  loop_.leave();
  end_ = {};
  if (due) due.attr("cancel")();
}

void LoopTurn::each_reference(References& references) {
  references.reset(method_, due_);
  loop_.each_reference(references);
}

bool LoopTurn::take(bool woken) {
  const Clock::time_point now = Clock::now();
  disarm();
  if (woken) {
    sharing_.was_away(armed_, now);
  }
  if (sharing_.is_due(now)) {
    sharing_.give_way();
  }
  end_ = {};
  look_at_descriptors(now);
  const std::size_t delivered = engine_.look(turn_max);
  if (delivered >= turn_max || goes_on(delivered)) {
    return true;
  }
  armed_ = Clock::now();
  is_armed_ = true;
  engine_.engine().request_notification();
  return engine_.engine().has_pending();
}

void LoopTurn::look_at_descriptors(Clock::time_point now) noexcept {
  if (now >= next_descriptors_) {
    next_descriptors_ = now + rhythm_.between_descriptors;
    engine_.engine().look_at_descriptors();
  }
}

/// A thread that looks by itself needs no wake-up. A wake-up that is not cleared would call the loop for nothing.
void LoopTurn::disarm() noexcept {
  // A forked child shares the handle with its parent, and would take the parent's wake-up.
  if (std::exchange(is_armed_, false) && !engine_.is_forked()) engine_.engine().clear_notification();
}

/// Whether the turn goes on. After a delivery, its waiters run first, and may submit more; then it goes on as long as
/// looking pays.
bool LoopTurn::goes_on(std::size_t delivered) noexcept {
  const Clock::time_point now = Clock::now();
  if (delivered != 0 && is_polling_ && polling_length_ != Patience::Duration::zero()) {
    polling_.hit();
  }
  if (delivered != 0 || !is_polling_) {
    is_polling_ = true;
    polling_length_ = patience_of(polling_);
    polling_end_ = now + polling_length_;
  }
  if (delivered != 0 || now < polling_end_) {
    return true;
  }
  if (polling_length_ != Patience::Duration::zero()) {
    polling_.miss();
  }
  is_polling_ = false;
  return false;
}

void LoopTurn::begin() {
  if (end_ == Clock::time_point()) {
    const Clock::time_point now = Clock::now();
    end_ = now + rhythm_.budget;
    latest_end_ = now + longest_turn;
    disarm();
    kick();
  }
}

/// The handle of the call that is due, or None.
py::object LoopTurn::own_call() const { return due_ ? due_ : py::none(); }

bool LoopTurn::progress_until(const std::uint64_t& completions) {
  engine_.require_open("progress");
  if (engine_.is_progressing()) {
    return false;
  }
  const std::uint64_t before = completions;
  // An await that does not look for long sleeps next, or suspends: then the loop looks at descriptors.
  while (engine_.advance(Sources::listed)) {
    if (completions != before) return true;
    unclocked_ += 4;  // an operation that does not complete at once may take long
    if (!has_time(Clock::now())) return false;
  }
  return spin_until(completions, before);
}

/// Polls an idle engine for as long as looking pays.
bool LoopTurn::spin_until(const std::uint64_t& completions, std::uint64_t before) {
  const Patience::Duration length = patience_of(spinning_);
  if (length == Patience::Duration::zero()) {
    return false;
  }
  Clock::time_point now = Clock::now();
  const Clock::time_point stop = now + length;
  bool advanced = false;
  bool completed = false;
  while (!completed && now < stop && has_time(now)) {
    advanced |= engine_.advance(Sources::all);
    completed = completions != before;
    if (!completed) now = Clock::now();  // a completed task needs no more time
  }
  unclocked_ = 0;
  if (completed) {
    spinning_.hit();
  } else if (!advanced) {
    spinning_.miss();
  }
  return completed;
}

bool LoopTurn::sleep_until(const std::uint64_t& completions) {
  const std::optional<StockLoop>& loop = loop_.stock();
  if (!loop || engine_.is_progressing() || !is_skippable(*loop)) {
    return false;
  }
  const Clock::time_point until = std::min(latest_end_, loop->next_timer());
  const std::uint64_t before = completions;
  bool alone = true;
  while (alone && completions == before && Clock::now() < until) alone = sleep(*loop, until);
  const Clock::time_point now = Clock::now();
  end_ = alone ? std::min(now + rhythm_.budget, latest_end_) : now;
  unclocked_ = often;
  return completions != before;
}

/// Returns whether the loop still has nothing to do.
bool LoopTurn::sleep(const StockLoop& loop, Clock::time_point until) {
  armed_ = Clock::now();
  bool others = false;
  {
    const Armed armed(engine_.engine());
    if (!engine_.engine().has_pending()) others = loop.sleep(engine_.engine().notification_handle(), until);
  }
  sharing_.was_away(armed_, Clock::now());
  engine_.look(turn_max);
  return !others && loop.is_idle(own_call());
}

bool LoopTurn::is_over(unsigned operations) {
  unclocked_ += operations;
  if (unclocked_ < often) {
    return false;
  }
  unclocked_ = 0;
  return !has_time(Clock::now());
}

/// Renews the budget at once if the loop's turn would do nothing.
bool LoopTurn::skip_turn(Clock::time_point now) {
  const std::optional<StockLoop>& loop = loop_.stock();
  const bool skipped = loop && now < latest_end_ && is_skippable(*loop) && loop->next_timer() > now &&
                       !loop->has_event(engine_.engine().notification_handle());
  if (skipped) {
    end_ = std::min(now + rhythm_.budget, latest_end_);
  }
  return skipped;
}

bool LoopTurn::is_skippable(const StockLoop& loop) const {
  return loop.is_idle(own_call()) && loop.runs_this_coroutine();
}

}  // namespace pydoca::bindings

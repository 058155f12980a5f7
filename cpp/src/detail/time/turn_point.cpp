#include "detail/time/turn_point.hpp"

#include "pydoca/status.hpp"
#include "pydoca/turn_points.hpp"

#include "detail/concat.hpp"
#include "detail/time/virtual_clock.hpp"

#include <array>
#include <atomic>
#include <random>
#include <string_view>

namespace pydoca::detail {

namespace {

constexpr std::array<std::string_view, 6> mistake_names{
    "", "no_second_look", "epoch_not_bumped", "credit_counted_twice", "ack_before_data", "flag_before_payload"};
/// A thread gives way at one in so many points, for so long at most; a turn of a loop takes 1000 ns.
constexpr std::uint64_t one_in = 4;
constexpr std::uint64_t longest = 5000;

std::atomic<Mistake> planted_mistake{Mistake::none};
std::atomic<const sim::TurnHold*> turn_hold{nullptr};  ///< null: threads do not give way

/// The next number of the running thread, of which there is one.
std::uint64_t draw() noexcept {
  static std::mt19937_64 random;  // NOLINT(bugprone-random-generator-seed): from the clock's seed, below
  static std::uint32_t clock = 0;
  if (clock != clock_number.load()) {
    clock = clock_number.load();
    random.seed(mixed_seed(1));
  }
  return random();
}

}  // namespace

void turn_point() noexcept {
  const sim::TurnHold* const held = turn_hold.load(std::memory_order_acquire);
  if (held == nullptr || !VirtualClock::instance().is_running() || draw() % one_in != 0) {
    return;
  }
  void* const what = held->let_go();
  VirtualClock::instance().wait(nullptr, now() + draw() % longest);
  held->take_back(what);
}

bool is_planted(Mistake mistake) noexcept { return planted_mistake.load(std::memory_order_relaxed) == mistake; }

}  // namespace pydoca::detail

namespace pydoca::sim {

void give_way_at_turn_points(const TurnHold* hold) noexcept {
  detail::turn_hold.store(hold, std::memory_order_release);
}

void plant(std::string_view mistake) {
  for (std::size_t i = 0; i < detail::mistake_names.size(); ++i) {
    if (detail::mistake_names[i] == mistake) {
      detail::planted_mistake.store(static_cast<detail::Mistake>(i), std::memory_order_relaxed);
      return;
    }
  }
  throw Error(Status::invalid_value, detail::concat("plant: there is no mistake \"", mistake, "\""));
}

}  // namespace pydoca::sim

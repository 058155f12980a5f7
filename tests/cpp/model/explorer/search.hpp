#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace pydoca::model {

/// A step that may come next: the pending operation of a thread, or the store that has waited longest in the thread's
/// store buffer for its place.
struct Action {
  static constexpr std::uint32_t at_start = std::numeric_limits<std::uint32_t>::max();

  std::uint8_t thread = 0;
  std::uint8_t place = 0;  ///< number of the memory that it reads or writes; 0: none
  bool commits = false;    ///< a buffered store reaches memory
  bool writes = false;
  bool drains = false;             ///< an operation follows all earlier stores of its thread
  bool releases = false;           ///< a store follows the stores before it
  std::uint8_t ends = 0;           ///< the thread that it kills, from 1; 0: none
  std::uint32_t store = 0;         ///< a store's number among those of its thread
  std::uint32_t after = at_start;  ///< the step of its thread that made a store

  bool is_same_agent(const Action& other) const noexcept {
    return thread == other.thread && commits == other.commits && (!commits || place == other.place);
  }
  /// Whether two threads access one place, and one of them writes it; or one thread kills the other.
  bool conflicts_with(const Action& other) const noexcept {
    return thread != other.thread && ((place != 0 && place == other.place && (writes || other.writes)) ||
                                      ends == other.thread + 1 || other.ends == thread + 1);
  }
  /// Whether the order of two actions that are both possible makes no difference.
  bool is_independent_of(const Action& other) const noexcept;
  /// Whether this action, which came at the given step, comes before a later one in every equivalent schedule.
  bool precedes(const Action& later, std::size_t step) const noexcept;
};

/// The actions that are possible at one time.
class Actions {
 public:
  static constexpr std::size_t capacity = 32;

  void add(const Action& action) noexcept { all_[size_ < capacity ? size_++ : size_ - 1] = action; }
  void clear() noexcept { size_ = 0; }
  std::size_t size() const noexcept { return size_; }
  const Action* begin() const noexcept { return all_.data(); }
  const Action* end() const noexcept { return all_.data() + size_; }
  const Action& operator[](std::size_t index) const noexcept { return all_[index]; }
  /// The index of the action with the same agent, or size().
  std::size_t index_of(const Action& action) const noexcept;
  bool contains(const Action& action) const noexcept { return index_of(action) != size_; }

 private:
  std::array<Action, capacity> all_{};
  std::size_t size_ = 0;
};

/// Chooses the schedule of each execution.
class Search {
 public:
  Search() = default;
  virtual ~Search() = default;
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  /// The index of the action that comes next.
  virtual std::size_t choose(const Actions& possible) = 0;
  /// Ends an execution; false when none is left.
  virtual bool next() = 0;
};

/// Depth-first search over all schedules. It explores one of the schedules that differ only in the order of independent
/// steps: dynamic partial-order reduction with source sets (Abdulla, Aronis, Jonsson, Sagonas 2014) and sleep sets.
class DepthFirst final : public Search {
 public:
  static constexpr std::size_t max_steps = 512;

  /// If it does not reduce, it explores every order of all steps; the tests compare the two.
  explicit DepthFirst(bool reduces = true) noexcept : reduces_(reduces) {}

  std::size_t choose(const Actions& possible) override;
  bool next() override;
  /// Executions that only repeated another one in a different order.
  std::uint64_t redundant() const noexcept { return redundant_; }

 private:
  using Steps = std::bitset<max_steps>;
  struct Node {
    Actions possible;
    Actions asleep;  ///< those whose schedules were explored already
    std::bitset<Actions::capacity> wanted;
    std::size_t chosen = 0;

    const Action& action() const noexcept { return possible[chosen]; }
    std::size_t first_wanted() const noexcept;
  };

  bool extend(const Actions& possible);
  void find_races();
  void reverse(std::size_t early, std::size_t late);

  const bool reduces_;
  std::vector<Node> path_;
  std::vector<Steps> before_;  ///< one for each step: those that come before it in every equivalent schedule
  Actions asleep_;
  std::size_t depth_ = 0;
  bool is_redundant_ = false;
  std::uint64_t redundant_ = 0;
};

/// Random schedules, for scenarios that are too large for a search.
class AtRandom final : public Search {
 public:
  explicit AtRandom(std::uint64_t seed) : random_(seed) {}

  std::size_t choose(const Actions& possible) override { return random_() % possible.size(); }
  bool next() override { return true; }

 private:
  std::mt19937_64 random_;
};

}  // namespace pydoca::model

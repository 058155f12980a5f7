#include "model/explorer/search.hpp"

#include <algorithm>

namespace pydoca::model {

bool Action::is_independent_of(const Action& other) const noexcept {
  if (thread != other.thread) {
    return !conflicts_with(other);
  }
  // A load finds its thread's own store in the buffer as in memory.
  return !is_same_agent(other) && !drains && !other.drains;
}

bool Action::precedes(const Action& later, std::size_t step) const noexcept {
  if (thread != later.thread) {
    return conflicts_with(later);
  }
  if (is_same_agent(later)) {
    return true;
  }
  if (!later.commits) {
    return later.drains || (later.writes && place == later.place);
  }
  return commits ? later.releases && store < later.store : later.after != at_start && step <= later.after;
}

std::size_t Actions::index_of(const Action& action) const noexcept {
  return static_cast<std::size_t>(
      std::find_if(begin(), end(), [&](const Action& other) { return other.is_same_agent(action); }) - begin());
}

std::size_t DepthFirst::Node::first_wanted() const noexcept {
  std::size_t index = 0;
  while (index < possible.size() && (!wanted[index] || asleep.contains(possible[index]))) {
    ++index;
  }
  return index;
}

std::size_t DepthFirst::choose(const Actions& possible) {
  if (is_redundant_ || (depth_ == path_.size() && !extend(possible))) {
    return 0;  // the execution must end; its order was explored
  }
  const Node& node = path_[depth_];
  asleep_.clear();
  for (const Action& action : node.asleep) {
    if (reduces_ && action.is_independent_of(node.action())) {
      asleep_.add(action);
    }
  }
  ++depth_;
  if (depth_ > before_.size()) {
    find_races();
  }
  return node.chosen;
}

bool DepthFirst::extend(const Actions& possible) {
  Node node{.possible = possible, .asleep = asleep_, .wanted = {}};
  node.wanted.set();
  node.chosen = node.first_wanted();
  if (node.chosen == possible.size()) {
    is_redundant_ = true;
    return false;
  }
  if (reduces_) {
    node.wanted.reset();
    node.wanted.set(node.chosen);
  }
  path_.push_back(node);
  return true;
}

/// Finds the last step's races: with the steps before it, and those of other threads that could also come after it.
void DepthFirst::find_races() {
  const std::size_t late = depth_ - 1;
  const Action& action = path_[late].action();
  Steps before;
  std::vector<std::size_t> races;
  for (std::size_t step = late; step-- > 0;) {
    const Action& earlier = path_[step].action();
    if (before[step] || !earlier.precedes(action, step)) {
      continue;
    }
    if (earlier.thread != action.thread) {
      races.push_back(step);
    }
    before |= before_[step];
    before.set(step);
  }
  before_.push_back(before);
  for (const std::size_t early : races) {
    reverse(early, late);
  }
}

/// Has the search explore a schedule in which the late step comes before the early one, unless it does already.
void DepthFirst::reverse(std::size_t early, std::size_t late) {
  Node& node = path_[early];
  Steps between;  // the steps that need not wait for the early one, and the late one
  std::size_t first = Actions::capacity;
  for (std::size_t step = early + 1; step <= late; ++step) {
    if (step != late && before_[step][early]) {
      continue;
    }
    if ((before_[step] & between).none()) {
      const std::size_t index = node.possible.index_of(path_[step].action());
      if (index != node.possible.size()) {
        if (node.wanted[index]) {
          return;
        }
        first = std::min(first, index);
      }
    }
    between.set(step);
  }
  if (first != Actions::capacity) {  // else the early step made the late one possible
    node.wanted.set(first);
  }
}

bool DepthFirst::next() {
  redundant_ += is_redundant_ ? 1U : 0U;
  is_redundant_ = false;
  depth_ = 0;
  asleep_.clear();
  while (!path_.empty()) {
    Node& node = path_.back();
    node.asleep.add(node.action());
    before_.resize(std::min(before_.size(), path_.size() - 1));
    node.chosen = node.first_wanted();
    if (node.chosen != node.possible.size()) {
      return true;
    }
    path_.pop_back();
  }
  return false;
}

}  // namespace pydoca::model

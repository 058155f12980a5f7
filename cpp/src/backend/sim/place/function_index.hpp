#pragma once

#include "pydoca/sim.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace pydoca::sim {

/// The position of a function in a topology.
using Position = std::uint32_t;

/// Positions by a key, which several may share: a sorted array, filled before it is asked.
template <class Key>
class PositionsByKey {
 public:
  struct Entry {
    Key key;
    Position position;
    auto operator<=>(const Entry&) const = default;
  };

  void reserve(std::size_t count) { entries_.reserve(count); }
  void add(const Key& key, Position position) { entries_.push_back({key, position}); }
  void sort() { std::ranges::sort(entries_); }

  /// The entries of the key, in the topology's order.
  std::span<const Entry> of(const Key& key) const noexcept {
    const auto [first, last] = std::ranges::equal_range(entries_, key, {}, &Entry::key);
    return {first, last};
  }
  /// The first two entries with one key; empty where each key is there once.
  std::span<const Entry> duplicates() const noexcept {
    const auto found = std::ranges::adjacent_find(entries_, {}, &Entry::key);
    return found == entries_.end() ? std::span<const Entry>() : std::span<const Entry>(found, 2);
  }

 private:
  std::vector<Entry> entries_;
};

/// Finds a topology's functions without looking at the others. Refers to the texts of the topology, which stays where
/// it is.
struct FunctionIndex {
  using Words = PositionsByKey<std::string_view>;
  using WordsOfParents = PositionsByKey<std::pair<std::string_view, std::string_view>>;

  explicit FunctionIndex(const Topology& topology);

  Words names;
  Words words;                  ///< addresses, names, ibdev names and interfaces
  Words addresses;              ///< functions that are not SFs: an SF shares the address of its parent
  WordsOfParents children;      ///< parent and name, address or "" (any), of functions with a representor
  WordsOfParents representors;  ///< parent and name of the representor
};

}  // namespace pydoca::sim

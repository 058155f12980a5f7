#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pydoca::benchmarks {

/// The rule that compares a figure with its floor.
enum class Rule : std::uint8_t {
  cost_ratio_at_most,    ///< time / floor's time
  speed_ratio_at_least,  ///< floor's time / time
  excess_ns_at_most,     ///< time - floor's time, in ns a unit
};

/// A measured operation and the bare one that it is compared with, over the same number of units in the same run.
struct Figure {
  std::string name;
  Rule rule;
  double target;
  std::uint64_t units;  ///< how many units a sample has
  std::function<void(std::uint64_t units)> subject;
  std::function<void(std::uint64_t units)> floor;
};

struct Result {
  double value_ns;  ///< a unit, median
  double floor_ns;
  double score;  ///< the value that the rule compares with the target: the median over pairs of neighbouring samples
  bool ok;
};

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

inline double ns_per_unit(const std::function<void(std::uint64_t)>& action, std::uint64_t units) {
  const auto start = std::chrono::steady_clock::now();
  action(units);
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  return took.count() / static_cast<double>(units);
}

inline double score_of(Rule rule, double value, double floor) {
  switch (rule) {
    case Rule::cost_ratio_at_most:
      return value / floor;
    case Rule::speed_ratio_at_least:
      return floor / value;
    case Rule::excess_ns_at_most:
      return value - floor;
  }
  return 0;
}

/// Takes samples of figure and floor in turn, so that a machine that changes its pace changes both.
inline Result measure(const Figure& figure, int repetitions) {
  figure.floor(figure.units);
  figure.subject(figure.units);
  std::vector<double> values;
  std::vector<double> floors;
  std::vector<double> scores;
  for (int i = 0; i < repetitions; ++i) {
    floors.push_back(ns_per_unit(figure.floor, figure.units));
    values.push_back(ns_per_unit(figure.subject, figure.units));
    scores.push_back(score_of(figure.rule, values.back(), floors.back()));
  }
  const double score = median(scores);
  const bool ok = figure.rule == Rule::speed_ratio_at_least ? score >= figure.target : score <= figure.target;
  return {median(values), median(floors), score, ok};
}

}  // namespace pydoca::benchmarks

#pragma once

#include "failure/injection.hpp"
#include "failure/scenario.hpp"

#include <string>
#include <vector>

namespace pydoca::failure {

/// Makes each event of a scenario fail in turn: the first, the second, ... until a run completes untouched. Whether it
/// runs in one process that has run the scenario before, which then notices each leak, or each time in a new one, in
/// which everything happens for the first time. The scenario must run to its end after each failure.
struct Sweep {
  const Scenario& scenario;
  std::vector<Plan> plans;  ///< plans without n; one after another
  bool cold = false;
  std::uint64_t first = 1;
  std::uint64_t stride = 1;
};

struct Result {
  int num_runs = 0;  ///< how many processes ran
  int num_failures = 0;
  std::string failures;  ///< a paragraph for each; empty: none
};

Result run(const Sweep& sweep);

/// PYDOCA_SWEEP=1: every event, also where a run in seconds leaves some out.
bool is_whole_sweep() noexcept;

}  // namespace pydoca::failure

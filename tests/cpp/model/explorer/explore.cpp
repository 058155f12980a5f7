#include "model/explorer/explore.hpp"

namespace pydoca::model {

std::ostream& operator<<(std::ostream& out, const Result& result) {
  out << result.executions << " executions (" << result.redundant << " repeat others), " << result.steps
      << " steps at most" << (result.is_complete ? "" : ", not all schedules");
  return result.holds() ? out : out << "\n" << result.failure;
}

void require(bool holds, std::string_view what, std::source_location where) {
  if (!holds) {
    execution().fail(what, {"", where});
  }
}

}  // namespace pydoca::model

#include "task/unseen_failures.hpp"

#include <new>

namespace pydoca::bindings {

/// Never destroyed: what has failed may end after it would be.
UnseenFailures& UnseenFailures::instance() {
  static auto& failures = *new UnseenFailures;
  return failures;
}

void UnseenFailures::add(Unseen& failed) noexcept {
  try {
    failures_.insert(&failed);
  } catch (const std::bad_alloc&) {  // it is reported when its object ends, then
  }
}

}  // namespace pydoca::bindings

#include "task/unseen_failures.hpp"

#include <new>

namespace pydoca::bindings {

namespace {

bool is_dev_mode() { return py::handle(PySys_GetObject("flags")).attr("dev_mode").cast<bool>(); }

}  // namespace

void warn_dropped_in_flight(py::handle object, const std::string& what) noexcept {
  if (!is_dev_mode()) return;
  constexpr const char* text = "%s was dropped in flight: its outcome is lost";
  if (PyErr_WarnFormat(PyExc_ResourceWarning, 1, text, what.c_str()) != 0) PyErr_WriteUnraisable(object.ptr());
}

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

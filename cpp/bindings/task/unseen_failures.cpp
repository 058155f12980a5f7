#include "task/unseen_failures.hpp"

#include "convert/python.hpp"

#include <new>

namespace pydoca::bindings {

namespace {

bool is_dev_mode() { return py::handle(PySys_GetObject("flags")).attr("dev_mode").cast<bool>(); }

}  // namespace

/// Never destroyed: what has failed may end after it would be.
std::unordered_set<Unseen*>& Unseen::all() {
  static auto& failures = *new std::unordered_set<Unseen*>;
  return failures;
}

void Unseen::expect_question() noexcept {
  unseen_ = true;
  try {
    all().insert(this);
  } catch (const std::bad_alloc&) {  // it is reported when its object ends, then
  }
}

void Unseen::forget() noexcept {
  unseen_ = false;
  all().erase(this);
}

void Unseen::report() noexcept {
  forget();
  if (is_inherited()) return;
  const py::error_scope pending;  // an object may end while an exception is raised
  try {
    log_failure();
    drain_log_soon();
  } catch (...) {  // memory is short: losing the message is the lesser harm
  }
}

void Unseen::report_all() noexcept {
  while (!all().empty()) (*all().begin())->report();
}

void warn_dropped_in_flight(py::handle object, const MemoryHolder& holder) noexcept {
  try {
    if (!is_dev_mode()) return;
    constexpr const char* text = "%s was dropped in flight: its outcome is lost";
    if (PyErr_WarnFormat(PyExc_ResourceWarning, 1, text, holder.describe().c_str()) != 0) {
      PyErr_WriteUnraisable(object.ptr());
    }
  } catch (...) {  // memory is short
  }
}

}  // namespace pydoca::bindings

#include "bound_loop.hpp"

#include "collectable.hpp"

#include <utility>

namespace pydoca::bindings {

namespace py = pybind11;

namespace {

/// What asyncio keeps in a thread's state for the loop that runs there: another object for every run of another loop.
/// Asking asyncio itself costs a system call up to Python 3.11. Null, without an error, when nothing is found.
PyObject* running_loop_mark() noexcept {
  static PyObject* const key = PyUnicode_InternFromString("__asyncio_running_event_loop__");
  PyObject* const state = PyThreadState_GetDict();
  return state != nullptr && key != nullptr ? PyDict_GetItemWithError(state, key) : nullptr;
}

}  // namespace

bool BoundLoop::is_running() const noexcept { return mark_ && running_loop_mark() == mark_.ptr(); }

void BoundLoop::enter(const py::object& loop) {
  auto mark = py::reinterpret_borrow<py::object>(running_loop_mark());
  if (mark_.ptr() != mark.ptr()) {
    create_future_ = loop.attr("create_future");
    stock_ = StockLoop::find(loop);
    mark_ = std::move(mark);
  }
}

int BoundLoop::traverse(visitproc visit, void* arg) const {
  for (const py::object* object : {&mark_, &create_future_}) {
    if (const int stop = visit_ref(*object, visit, arg)) return stop;
  }
  return stock_ ? stock_->traverse(visit, arg) : 0;
}

void BoundLoop::clear() noexcept {
  const py::object mark = std::exchange(mark_, {});
  const py::object method = std::exchange(create_future_, {});
  const std::optional<StockLoop> stock = std::exchange(stock_, std::nullopt);
}

}  // namespace pydoca::bindings

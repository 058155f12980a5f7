#include "loop/bound_loop.hpp"

#include <utility>

namespace pydoca::bindings {

bool BoundLoop::is_running() const { return mark_ && is_running_loop_mark(mark_); }

void BoundLoop::enter(const py::object& loop) {
  py::object mark = running_loop_mark();
  if (!mark_.is(mark)) {
    loop_ = loop;
    create_future_ = loop.attr("create_future");
    stock_ = StockLoop::find(loop);
    mark_ = std::move(mark);
  }
}

py::object BoundLoop::call_soon(const py::object& callback) const {
  return loop_ && !loop_.attr("is_closed")().cast<bool>() ? loop_.attr("call_soon")(callback) : py::object();
}

void BoundLoop::leave() {
  References dropped;
  each_reference(dropped);
}

void BoundLoop::each_reference(References& references) {
  references.reset(loop_, mark_, create_future_);
  if (stock_) stock_->each_reference(references);
  if (references.are_dropped()) stock_.reset();
}

}  // namespace pydoca::bindings

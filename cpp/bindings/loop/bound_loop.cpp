#include "loop/bound_loop.hpp"

#include "convert/collectable.hpp"

#include <utility>

namespace pydoca::bindings {

bool BoundLoop::is_running() const { return mark_ && running_loop_mark().is(mark_); }

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

int BoundLoop::traverse(visitproc visit, void* arg) const {
  for (const py::object* object : {&loop_, &mark_, &create_future_}) {
    if (const int stop = visit_ref(*object, visit, arg)) return stop;
  }
  return stock_ ? stock_->traverse(visit, arg) : 0;
}

void BoundLoop::clear() noexcept {
  const py::object loop = std::exchange(loop_, {});
  const py::object mark = std::exchange(mark_, {});
  const py::object method = std::exchange(create_future_, {});
  const std::optional<StockLoop> stock = std::exchange(stock_, std::nullopt);
}

}  // namespace pydoca::bindings

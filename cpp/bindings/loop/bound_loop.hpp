#pragma once

#include "convert/pybind.hpp"
#include "loop/asyncio_internals.hpp"

#include <optional>

namespace pydoca::bindings {

/// The event loop to which the bridge has bound an engine, or none.
class BoundLoop {
 public:
  /// Whether that loop runs in this thread. It may be false for the right loop; it is never true for another.
  bool is_running() const;
  /// Null without one.
  const py::object& get() const noexcept { return loop_; }
  /// loop runs in this thread.
  void enter(const py::object& loop);
  void leave();

  /// Schedules a call in the loop's next turn. Returns the handle of that call, or null without an open loop.
  py::object call_soon(const py::object& callback) const;
  /// Call only while is_running().
  py::object create_future() const { return create_future_(); }
  /// nullopt unless the loop is asyncio's own.
  const std::optional<StockLoop>& stock() const noexcept { return stock_; }

  void each_reference(References& references);

 private:
  py::object loop_;
  py::object mark_;  ///< the object that identifies it in its thread's state
  py::object create_future_;
  std::optional<StockLoop> stock_;
};

}  // namespace pydoca::bindings

#pragma once

#include "loop/asyncio_internals.hpp"

#include <pybind11/pybind11.h>

#include <optional>

namespace pydoca::bindings {

/// The event loop to which the bridge bound an engine, if it did.
class BoundLoop {
 public:
  /// Whether it runs in this thread. May say no to the right one, never yes to another.
  bool is_running() const;
  /// loop runs in this thread.
  void enter(const pybind11::object& loop);
  void leave() noexcept { clear(); }

  /// Has the loop call it in its next turn; the handle of that call, null without an open loop.
  pybind11::object call_soon(const pybind11::object& callback) const;
  /// Only where is_running().
  pybind11::object create_future() const { return create_future_(); }
  /// None when it is no loop of asyncio's own.
  const std::optional<StockLoop>& stock() const noexcept { return stock_; }

  int traverse(visitproc visit, void* arg) const;
  void clear() noexcept;

 private:
  pybind11::object loop_;
  pybind11::object mark_;  ///< what stands for it in its thread's state
  pybind11::object create_future_;
  std::optional<StockLoop> stock_;
};

}  // namespace pydoca::bindings

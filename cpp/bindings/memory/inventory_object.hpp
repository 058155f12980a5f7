#pragma once

#include <pydoca/buf_inventory.hpp>

#include "convert/pybind.hpp"

#include <memory>

namespace pydoca::bindings {

/// Python's BufInventory. It is closed when the engine's inventory has no elements any more.
struct InventoryObject {
  std::shared_ptr<BufInventory> inventory;
  py::object user_data = py::none();

  void close() const { inventory->close(); }
  void enter() const { inventory->start(); }
  /// For the end of a with block: releases its bufs that no task has.
  void release_idle() const;
};

}  // namespace pydoca::bindings

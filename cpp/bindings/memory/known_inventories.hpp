/// The inventories that Python made, for messages that name the bufs that are still out. Needs the GIL.
#pragma once

#include <pydoca/buf_inventory.hpp>

#include <memory>
#include <string>

namespace pydoca::bindings {

void remember(const std::shared_ptr<BufInventory>& inventory);

/// A description of the bufs that point into the map, with their inventories, and what to do. Empty when there is none.
std::string describe_bufs_of(const Mmap& map);

}  // namespace pydoca::bindings

/// The inventories that Python made, for messages that say which bufs are still out. Under the GIL.
#pragma once

#include <pydoca/buf_inventory.hpp>

#include <memory>
#include <string>

namespace pydoca::bindings {

void remember(const std::shared_ptr<BufInventory>& inventory);

/// Which bufs point into the map, of which inventories, and what to do; empty when none does.
std::string describe_bufs_of(const Mmap& map);

}  // namespace pydoca::bindings

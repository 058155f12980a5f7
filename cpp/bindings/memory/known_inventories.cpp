#include "memory/known_inventories.hpp"

#include "convert/convert.hpp"
#include "convert/pybind.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace pydoca::bindings {

namespace {

constexpr std::size_t most_described = 3;

struct Known {
  std::vector<std::weak_ptr<BufInventory>> inventories;
  std::size_t limit = 16;  // the number of entries at which ended inventories are removed

  static Known& instance() {
    static Known known;
    return known;
  }
};

std::string describe(const Buf& buf, const BufInventory& inventory) {
  return format("{} bytes at {:#x} of a BufInventory of {} elements", buf.len(), buf.head(), inventory.num_elements());
}

}  // namespace

void remember(const std::shared_ptr<BufInventory>& inventory) {
  Known& known = Known::instance();
  if (known.inventories.size() >= known.limit) {
    std::erase_if(known.inventories, [](const auto& one) { return one.expired(); });
    known.limit = std::max<std::size_t>(16, 2 * known.inventories.size());
  }
  known.inventories.push_back(inventory);
}

std::string describe_bufs_of(const Mmap& map) {
  std::string text;
  std::size_t count = 0;
  for (const std::weak_ptr<BufInventory>& known : Known::instance().inventories) {
    const std::shared_ptr<BufInventory> inventory = known.lock();
    for (const Buf* const buf : inventory != nullptr ? inventory->bufs_of(map) : std::vector<const Buf*>()) {
      if (++count <= most_described) text += (text.empty() ? ": " : ", ") + describe(*buf, *inventory);
    }
  }
  if (count > most_described) text += " and " + std::to_string(count - most_described) + " more";
  return count == 0
             ? text
             : text + "; close them, or drop every reference to them (names, tasks), before the map's with block ends";
}

}  // namespace pydoca::bindings

// Bufs that are got and given back, beside DPDK's rte_mempool where it is installed, and beside a free list.
// usage: buf_report [--json] [--check] [--repetitions N] [part of a name]
#include "pydoca/buf_inventory.hpp"
#include "pydoca/buf_pool.hpp"
#include "pydoca/device.hpp"
#include "pydoca/memory.hpp"

#include "dma_loop.hpp"
#include "figure.hpp"
#include "print_report.hpp"

#ifdef PYDOCA_HAS_DPDK
#include <rte_eal.h>
#include <rte_mempool.h>
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace pydoca::benchmarks {
namespace {

constexpr std::size_t num_elements = 1024;
constexpr std::size_t element_size = 2048;  ///< bytes
constexpr std::size_t burst = 32;           ///< bufs that are out at a time
constexpr std::uint64_t num_units = std::uint64_t{1} << 18;

/// Keeps the compiler from removing what makes value.
inline void use(const void* value) { asm volatile("" : : "r"(value) : "memory"); }

/// Calls get() for a burst of elements, then put() for each of them.
template <class Get, class Put>
void in_bursts(std::uint64_t units, Get get, Put put) {
  std::array<decltype(get()), burst> out{};
  for (; units > 0; units -= burst) {
    for (auto& element : out) {
      element = get();
      use(element);
    }
    for (auto& element : out) {
      put(element);
    }
  }
}

/// The least that any pool does: elements that point to the next free one.
class FreeList {
 public:
  FreeList() : nodes_(num_elements) {
    for (Node& node : nodes_) {
      put(&node);
    }
  }
  struct alignas(128) Node {
    Node* next = nullptr;
  };
  Node* get() {
    Node* const node = first_;
    first_ = node->next;
    return node;
  }
  void put(Node* node) {
    node->next = first_;
    first_ = node;
  }

 private:
  std::vector<Node> nodes_;
  Node* first_ = nullptr;
};

enum class Threads : std::uint8_t { one, many };

/// A started map of the elements, for bufs that one thread gets, or many.
std::shared_ptr<Mmap> map_for(Threads threads) {
  const auto memory = Memory::allocate(num_elements * element_size);
  auto map = mapped(Device::open(find_device("p0", Side::dpu)), memory->data(), memory->size(), memory);
  if (threads == Threads::many) {
    map->stop();
    map->enable_thread_safety();
    map->start();
  }
  return map;
}

class Bufs {
 public:
  explicit Bufs(std::shared_ptr<Mmap> map = map_for(Threads::one))
      : map_(std::move(map)),
        inventory_(BufInventory::create(num_elements)),
        pool_(BufPool::create(num_elements, element_size, map_)) {
    inventory_->start();
    pool_->start();
  }
  Buf* of_inventory() const {
    Buf* buf = nullptr;
    require(inventory_->get_by_data(map_, map_->addr(), element_size, buf));
    return buf;
  }
  Buf* of_pool() const {
    Buf* buf = nullptr;
    require(pool_->alloc(buf));
    return buf;
  }

 private:
  std::shared_ptr<Mmap> map_;
  std::shared_ptr<BufInventory> inventory_;
  std::shared_ptr<BufPool> pool_;
};

using Action = std::function<void(std::uint64_t units)>;

Action of_free_list() {
  return [list = std::make_shared<FreeList>()](std::uint64_t units) {
    in_bursts(units, [&] { return list->get(); }, [&](FreeList::Node* node) { list->put(node); });
  };
}

Action of_inventory(std::shared_ptr<Mmap> map = map_for(Threads::one)) {
  return [bufs = std::make_shared<Bufs>(std::move(map))](std::uint64_t units) {
    in_bursts(units, [&] { return bufs->of_inventory(); }, [](Buf* buf) { require(buf->dec_refcount()); });
  };
}

/// Each thread does all of the units.
Action side_by_side(Action first, Action second) {
  return [first = std::move(first), second = std::move(second)](std::uint64_t units) {
    const std::jthread other([&] { second(units); });
    first(units);
  };
}

/// A buf of an inventory, and a copy of so many bytes: bufs that are new for each copy, or the same ones. Both memories
/// begin with a page: where the destination lies some bytes further in its page, loads wait for stores, and a copy
/// takes twice the time.
Action copies_by_bufs(std::shared_ptr<Mmap> map, std::size_t size, bool are_new) {
  auto bufs = std::make_shared<Bufs>(std::move(map));
  return [bufs, buf = bufs->of_inventory(), size, are_new, to = Memory::allocate(size)](std::uint64_t units) mutable {
    for (; units > 0; --units) {
      if (are_new) {
        require(buf->dec_refcount());
        buf = bufs->of_inventory();
      }
      std::memcpy(to->data(), reinterpret_cast<const void*>(buf->data()), size);
      use(to->data());
    }
  };
}

Action of_pool() {
  return [bufs = std::make_shared<Bufs>()](std::uint64_t units) {
    in_bursts(units, [&] { return bufs->of_pool(); }, [](Buf* buf) { require(buf->dec_refcount()); });
  };
}

#ifdef PYDOCA_HAS_DPDK
/// With the cache of one CPU, as packet pools have it. The EAL allows one start in a process.
Action of_mempool() {
  static rte_mempool* const pool = [] {
    std::array<std::string, 6> words{"buf_report", "--no-huge", "--no-pci", "--no-telemetry", "--log-level=1", "-l0"};
    std::array<char*, words.size()> arguments{};
    std::ranges::transform(words, arguments.begin(), [](std::string& word) { return word.data(); });
    if (rte_eal_init(static_cast<int>(arguments.size()), arguments.data()) < 0) {
      return static_cast<rte_mempool*>(nullptr);
    }
    return rte_mempool_create("bufs", num_elements - 1, 128, 256, 0, nullptr, nullptr, nullptr, nullptr, 0, 0);
  }();
  if (pool == nullptr) {
    throw std::runtime_error("DPDK does not start here");
  }
  return [](std::uint64_t units) {
    const auto get = [] {
      void* element = nullptr;
      if (rte_mempool_get(pool, &element) != 0) {
        std::abort();
      }
      return element;
    };
    in_bursts(units, get, [](void* element) { rte_mempool_put(pool, element); });
  };
}
#endif

/// Two threads whose maps and inventories one thread has made, against two that have each made their own: what lies
/// beside one another in memory must not make them slower.
void add_two_threads(std::vector<Figure>& all) {
  const auto compare = [&all](const std::string& name, const std::function<Action()>& make) {
    Action elsewhere;
    std::jthread([&] { elsewhere = make(); }).join();
    all.push_back({name + ", two threads, of one maker against two", Rule::cost_ratio_at_most, 1.05, num_units,
                   side_by_side(make(), make()), side_by_side(make(), std::move(elsewhere))});
  };
  compare("bufs of two maps", [] { return of_inventory(); });
  for (const std::size_t size : {std::size_t{64}, std::size_t{4096}}) {
    for (const bool are_new : {false, true}) {
      compare("copy of " + std::to_string(size) + " B, " + (are_new ? "new bufs" : "the same bufs") + " of two maps",
              [=] { return copies_by_bufs(map_for(Threads::one), size, are_new); });
    }
  }
  all.push_back({"copy of 4096 B, new bufs of a thread-safe map, one thread, against another map",
                 Rule::cost_ratio_at_most, 1.2, num_units, copies_by_bufs(map_for(Threads::many), 4096, true),
                 copies_by_bufs(map_for(Threads::one), 4096, true)});
  const auto shared = map_for(Threads::many);
  all.push_back({"bufs of one thread-safe map, two threads, against one thread's", Rule::cost_ratio_at_most, 8,
                 num_units, side_by_side(of_inventory(shared), of_inventory(shared)),
                 of_inventory(map_for(Threads::many))});
}

std::vector<Figure> figures() {
  std::vector<Figure> all{
      {"buf of an inventory, got and given back, above a free list", Rule::excess_ns_at_most, 5, num_units,
       of_inventory(), of_free_list()},
      {"buf of a pool, got and given back, above a free list", Rule::excess_ns_at_most, 5, num_units, of_pool(),
       of_free_list()},
  };
  add_two_threads(all);
#ifdef PYDOCA_HAS_DPDK
  all.push_back({"buf of an inventory, against rte_mempool's element", Rule::cost_ratio_at_most, 1, num_units,
                 of_inventory(), of_mempool()});
  all.push_back({"buf of a pool, against rte_mempool's element", Rule::cost_ratio_at_most, 1, num_units, of_pool(),
                 of_mempool()});
#else
  std::fputs("not measured: what stands beside rte_mempool, as DPDK (libdpdk-dev) was not there to build with\n",
             stderr);
#endif
  return all;
}

}  // namespace
}  // namespace pydoca::benchmarks

int main(int argc, char** argv) {
  using namespace pydoca::benchmarks;
  return print_report(argc, argv, [](const Print& print) { print(figures()); });
}

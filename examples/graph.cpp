// One graph: two copies run side by side, then a function compares what they copied.

#include <pydoca/buf_inventory.hpp>
#include <pydoca/dma.hpp>
#include <pydoca/graph.hpp>
#include <pydoca/memory.hpp>
#include <pydoca/progress_engine.hpp>

#include <cstring>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

namespace {

using pydoca::require;
using pydoca::Status;

constexpr std::size_t size = 1024;  ///< bytes of a copy

/// A source and the destinations of two copies, one after the other.
struct Message {
  explicit Message(const std::shared_ptr<pydoca::Device>& device) : memory(pydoca::Memory::allocate(3 * size)) {
    std::memset(memory->data(), 'x', size);
    map->add_device(device);
    map->set_memrange(memory->data(), memory->size(), memory);
    map->start();
    inventory->start();
  }
  /// A task that copies the source to a destination: 1 or 2.
  pydoca::DmaMemcpyTask& copy(pydoca::Dma& dma, std::size_t destination) {
    pydoca::Buf* src = nullptr;
    pydoca::Buf* dst = nullptr;
    pydoca::DmaMemcpyTask* task = nullptr;
    require(inventory->get_by_data(map, map->addr(), size, src), "get the source buf");
    require(inventory->get_by_addr(map, map->addr() + destination * size, size, dst), "get a destination buf");
    require(dma.memcpy(src, dst, 0, task), "allocate a task");
    return *task;
  }

  std::shared_ptr<pydoca::Memory> memory;
  std::shared_ptr<pydoca::Mmap> map = pydoca::Mmap::create();
  std::shared_ptr<pydoca::BufInventory> inventory = pydoca::BufInventory::create(4);
};

void release(pydoca::DmaMemcpyTask& task) {
  require(task.src()->dec_refcount(), "give back a buf");
  require(task.dst()->dec_refcount(), "give back a buf");
  require(task.free(), "free the task");
}

// A function of the graph: its cookie is the message.
Status compare(const Message* message) noexcept {
  const std::byte* const bytes = message->memory->data();
  const bool equal = std::memcmp(bytes, bytes + size, size) == 0 && std::memcmp(bytes, bytes + 2 * size, size) == 0;
  return equal ? Status::success : Status::unexpected;
}

// Tasks of a graph call no callbacks; the context wants some all the same.
void ignore(pydoca::DmaMemcpyTask&) noexcept {}

void ended(pydoca::GraphInstance& instance, bool* done) noexcept {
  *done = true;
  if (instance.status() != Status::success) {
    std::cerr << "graph failed: " << instance.explain(instance.status()) << '\n';
  }
}

void run_graph(pydoca::Graph& graph, pydoca::Dma& dma, Message& message) {
  const auto& nodes = graph.nodes();
  pydoca::DmaMemcpyTask& first = message.copy(dma, 1);
  pydoca::DmaMemcpyTask& second = message.copy(dma, 2);
  bool done = false;
  pydoca::GraphInstance& instance = graph.create_instance();
  instance.set_task(*nodes[0], first);
  instance.set_task(*nodes[1], second);
  instance.set_cookie(*nodes[2], pydoca::as_user_data(&message));
  instance.set_user_data(pydoca::as_user_data(&done));
  require(instance.submit(), "submit the instance");
  while (!done) {
    graph.progress_engine()->progress();
  }
  std::cout << (instance.status() == Status::success ? "the copies are the same\n" : "");
  require(instance.destroy(), "destroy the instance");
  release(first);
  release(second);
}

void run() {
  const auto device = pydoca::Device::open(pydoca::find_device("03:00.0"));
  Message message(device);
  const auto engine = pydoca::ProgressEngine::create();
  const auto dma = pydoca::Dma::create(device);
  dma->set_memcpy_conf(pydoca::calls<ignore>, pydoca::calls<ignore>, 2);
  engine->connect(dma);
  require(dma->start(), "start the context");

  const auto graph = pydoca::Graph::create(engine);
  graph->set_conf(pydoca::calls<ended>, pydoca::calls<ended>, 1);
  pydoca::GraphNode& first = graph->node_from_context(dma);
  pydoca::GraphNode& second = graph->node_from_context(dma);
  pydoca::GraphNode& last = graph->node_from_user(pydoca::calls<compare>);
  graph->add_dependency(first, last);
  graph->add_dependency(second, last);
  graph->start();
  run_graph(*graph, *dma, message);
  graph->stop();
  require(dma->stop(), "stop the context");
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::cerr << "graph: " << error.what() << '\n';
    return 1;
  }
  return 0;
}

// A graph of two libraries: data is copied, the copy is hashed, and a function compares the digest with the expected
// one.

#include <pydoca/buf_inventory.hpp>
#include <pydoca/dma.hpp>
#include <pydoca/graph.hpp>
#include <pydoca/handles.hpp>
#include <pydoca/memory.hpp>
#include <pydoca/progress_engine.hpp>
#include <pydoca/sha.hpp>
#include <pydoca/sim.hpp>

#include <array>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace {

using pydoca::require;
using pydoca::Status;

constexpr std::string_view text = "abc";
// SHA-256 of text (FIPS 180-4, appendix B.1).
constexpr std::array<unsigned char, 32> expected{0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40,
                                                 0xde, 0x5d, 0xae, 0x22, 0x23, 0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17,
                                                 0x7a, 0x9c, 0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad};

// A function of the graph: its cookie is the place of the digest.
Status compare(const std::byte* digest) noexcept {
  const bool same = std::memcmp(digest, expected.data(), expected.size()) == 0;
  return same ? Status::success : Status::unexpected;
}

// Tasks of a graph call no callbacks; the contexts want some all the same.
void ignore(pydoca::Task&) noexcept {}

void ended(pydoca::GraphInstance&, bool* done) noexcept { *done = true; }

/// The text, its copy and the digest, behind one another.
struct Places {
  explicit Places(const std::shared_ptr<pydoca::Device>& device)
      : memory(pydoca::Memory::allocate(2 * text.size() + expected.size())) {
    std::memcpy(memory->data(), text.data(), text.size());
    map->add_device(device);
    map->set_memrange(memory->data(), memory->size(), memory);
    map->start();
    inventory->start();
    const std::uint64_t copy = map->addr() + text.size();
    require(inventory->get_by_data(map, map->addr(), text.size(), pydoca::Into(source)), "get the source");
    require(inventory->get_by_addr(map, copy, text.size(), pydoca::Into(target)), "get the target");
    require(inventory->get_by_addr(map, copy + text.size(), expected.size(), pydoca::Into(digest)), "get the digest");
  }

  std::shared_ptr<pydoca::Memory> memory;
  std::shared_ptr<pydoca::Mmap> map = pydoca::Mmap::create();
  std::shared_ptr<pydoca::BufInventory> inventory = pydoca::BufInventory::create(3);
  pydoca::BufRef source;
  pydoca::BufRef target;  ///< the copy's destination, and the digest's source
  pydoca::BufRef digest;
};

template <class Library>
std::shared_ptr<Library> start(std::shared_ptr<Library> context, pydoca::ProgressEngine& engine) {
  engine.connect(context);
  require(context->start(), "start the context");
  return context;
}

/// Runs the graph once, with the tasks of the places.
void run_once(pydoca::Graph& graph, pydoca::Dma& dma, pydoca::Sha& sha, const Places& places) {
  pydoca::TaskRef<pydoca::DmaMemcpyTask> copying;
  pydoca::TaskRef<pydoca::ShaHashTask> hashing;
  require(dma.memcpy(places.source.get(), places.target.get(), 0, pydoca::Into(copying)), "take a copy task");
  require(sha.hash(places.target.get(), places.digest.get(), pydoca::ShaAlgorithm::sha256, 0, pydoca::Into(hashing)),
          "take a hash task");
  bool done = false;
  const auto& nodes = graph.nodes();
  const pydoca::InstanceRef instance(&graph.create_instance());
  instance->set_task(*nodes[0], *copying);
  instance->set_task(*nodes[1], *hashing);
  instance->set_cookie(*nodes[2], places.digest->data());
  instance->set_user_data(pydoca::as_user_data(&done));
  require(instance->submit(), "submit the graph");
  while (!done) {
    graph.progress_engine()->progress();
  }
  require(instance->status(), "the graph");
}

void run() {
  pydoca::sim::set_topology(pydoca::sim::default_topology("bluefield2"));  // the later cards have no SHA engine
  const auto device = pydoca::Device::open(pydoca::find_device([](const pydoca::DeviceInfo& info) {
    return pydoca::Dma::is_supported(info) && pydoca::Sha::is_supported(info);
  }));
  const auto engine = pydoca::ProgressEngine::create();
  const Places places(device);
  auto copies = pydoca::Dma::create(device);
  copies->set_memcpy_conf(pydoca::calls<ignore>, pydoca::calls<ignore>, 1);
  const auto dma = start(std::move(copies), *engine);
  auto digests = pydoca::Sha::create(device);
  digests->set_hash_conf(pydoca::calls<ignore>, pydoca::calls<ignore>, 1);
  const auto sha = start(std::move(digests), *engine);

  const auto graph = pydoca::Graph::create(engine);
  graph->set_conf(pydoca::calls<ended>, pydoca::calls<ended>, 1);
  pydoca::GraphNode& copy = graph->node_from_context(dma);
  pydoca::GraphNode& hash = graph->node_from_context(sha);
  graph->add_dependency(copy, hash);
  graph->add_dependency(hash, graph->node_from_user(pydoca::calls<compare>));
  graph->start();
  run_once(*graph, *dma, *sha, places);
  std::cout << "the copy has the expected digest\n";
  graph->stop();
  require(sha->stop(), "stop the context");
  require(dma->stop(), "stop the context");
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::cerr << "graph_sha: " << error.what() << '\n';
    return 1;
  }
  return 0;
}

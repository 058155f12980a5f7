// RDMA between two contexts: one lends its memory, the other writes to it and then sends a message that says so. The
// contexts are in one process here; what they exchange are bytes, which any channel could carry.

#include <pydoca/buf_inventory.hpp>
#include <pydoca/handles.hpp>
#include <pydoca/memory.hpp>
#include <pydoca/progress_engine.hpp>
#include <pydoca/rdma.hpp>

#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>

namespace {

using pydoca::Access;
using pydoca::RdmaTaskKind;
using pydoca::require;
using pydoca::Status;

constexpr std::string_view text = "Written by the peer";

void ended(pydoca::RdmaTask& task) noexcept {
  if (task.status() != Status::success) {
    std::cerr << "task failed: " << task.explain(task.status()) << '\n';
  }
}

/// A context with its connection, and memory that the peer may write.
struct Peer {
  Peer(const std::shared_ptr<pydoca::Device>& device, const std::shared_ptr<pydoca::ProgressEngine>& engine)
      : memory(pydoca::Memory::allocate(text.size())), rdma(pydoca::Rdma::create(device)) {
    map->add_device(device);
    map->set_memrange(memory->data(), memory->size(), memory);
    map->set_permissions(Access::local_read_write | Access::rdma_write);
    map->start();
    inventory->start();
    rdma->set_permissions(Access::local_read_write | Access::rdma_write);
    for (const RdmaTaskKind kind : {RdmaTaskKind::write, RdmaTaskKind::send, RdmaTaskKind::receive}) {
      rdma->set_conf(kind, pydoca::calls<ended>, pydoca::calls<ended>, 1);
    }
    engine->connect(rdma);
    require(rdma->start(), "start the context");
    connection = rdma->export_connection();
  }

  std::shared_ptr<pydoca::Memory> memory;
  std::shared_ptr<pydoca::Mmap> map = pydoca::Mmap::create();
  std::shared_ptr<pydoca::BufInventory> inventory = pydoca::BufInventory::create(2);
  std::shared_ptr<pydoca::Rdma> rdma;
  std::shared_ptr<pydoca::RdmaConnection> connection;
};

using Task = pydoca::TaskRef<pydoca::RdmaTask>;

void write(Peer& from, Peer& to, const std::shared_ptr<pydoca::Device>& device, pydoca::ProgressEngine& engine) {
  const auto remote = pydoca::Mmap::create_from_export(device, to.map->export_rdma(*device));
  pydoca::BufRef src;
  pydoca::BufRef dst;
  require(from.inventory->get_by_data(from.map, from.map->addr(), text.size(), pydoca::Into(src)), "get the source");
  require(from.inventory->get_by_addr(remote, remote->addr(), text.size(), pydoca::Into(dst)), "get the destination");
  Task arrived;
  Task written;
  Task told;
  require(to.rdma->receive(nullptr, 0, pydoca::Into(arrived)), "take a receive task");
  require(from.rdma->write(*from.connection, src.get(), dst.get(), 0, pydoca::Into(written)), "take a write task");
  require(from.rdma->send(*from.connection, nullptr, 0, pydoca::Into(told)), "take a send task");
  require(arrived->submit(), "post a receive");
  require(written->submit(), "write");
  require(told->submit(), "send");  // it arrives when the data of the write is there
  while (from.rdma->num_inflight_tasks() + to.rdma->num_inflight_tasks() > 0) {
    engine.progress();
  }
  require(arrived->status(), "the message");
}

void stop(Peer& peer, pydoca::ProgressEngine& engine) {
  if (peer.rdma->stop() == Status::in_progress) {  // connections end first
    while (peer.rdma->state() != pydoca::ContextState::idle) {
      engine.progress();
    }
  }
}

void run() {
  const auto device = pydoca::Device::open(
      pydoca::find_device([](const pydoca::DeviceInfo& info) { return pydoca::Rdma::is_supported(info); }));
  const auto engine = pydoca::ProgressEngine::create();
  Peer from(device, engine);
  Peer to(device, engine);
  from.rdma->connect(to.connection->details(), *from.connection);
  to.rdma->connect(from.connection->details(), *to.connection);
  std::memcpy(from.memory->data(), text.data(), text.size());
  write(from, to, device, *engine);
  std::cout << std::string_view(reinterpret_cast<const char*>(to.memory->data()), text.size()) << '\n';
  stop(from, *engine);
  stop(to, *engine);
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::cerr << "rdma_write: " << error.what() << '\n';
    return 1;
  }
  return 0;
}

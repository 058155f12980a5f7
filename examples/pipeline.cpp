// Copies with 64 in flight: each completion begins the next copy, in its callback, until all pieces are copied.

#include <pydoca/buf_inventory.hpp>
#include <pydoca/dma.hpp>
#include <pydoca/handles.hpp>
#include <pydoca/memory.hpp>
#include <pydoca/progress_engine.hpp>

#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using pydoca::require;
using pydoca::Status;

constexpr std::size_t piece = 4096;  ///< bytes of a copy
constexpr std::size_t pieces = 10'000;
constexpr std::uint32_t depth = 64;

/// Memory that the device reaches.
struct Mapped {
  Mapped(const std::shared_ptr<pydoca::Device>& device, std::size_t bytes) : memory(pydoca::Memory::allocate(bytes)) {
    map->add_device(device);
    map->set_memrange(memory->data(), memory->size(), memory);
    map->start();
  }
  std::shared_ptr<pydoca::Memory> memory;
  std::shared_ptr<pydoca::Mmap> map = pydoca::Mmap::create();
};

/// What the callbacks share, through the context's user data.
struct Pipeline {
  pydoca::Mmap& source;
  pydoca::Mmap& target;
  std::size_t begun = 0;
  std::size_t ended = 0;
  Status failure = Status::success;

  /// Aims a task, which is not in flight, at the next piece and submits it.
  Status begin_next(pydoca::DmaMemcpyTask& task) {
    const std::size_t offset = begun * piece;
    if (const Status status = task.src()->set_data(source.addr() + offset, piece); status != Status::success) {
      return status;
    }
    if (const Status status = task.dst()->set_data(target.addr() + offset, 0); status != Status::success) {
      return status;
    }
    ++begun;
    return task.submit();
  }
};

// The user data of the tasks are not used, those of their context are the pipeline.
void copied(pydoca::DmaMemcpyTask& task, std::uint64_t, Pipeline* pipeline) noexcept {
  ++pipeline->ended;
  if (pipeline->begun < pieces && pipeline->failure == Status::success) {
    pipeline->failure = pipeline->begin_next(task);
  }
}

void failed(pydoca::DmaMemcpyTask& task, std::uint64_t, Pipeline* pipeline) noexcept {
  pipeline->failure = task.status();
}

void copy_all(pydoca::Dma& dma, pydoca::ProgressEngine& engine, Pipeline& pipeline, const Mapped& source,
              const Mapped& target) {
  // The handles give everything back in the reverse order: tasks, then bufs.
  const auto inventory = pydoca::BufInventory::create(2 * depth);
  inventory->start();
  std::vector<pydoca::BufRef> bufs(2 * depth);
  std::vector<pydoca::TaskRef<pydoca::DmaMemcpyTask>> tasks(depth);
  for (std::size_t i = 0; i < depth; ++i) {
    auto& src = bufs[2 * i];
    auto& dst = bufs[2 * i + 1];
    require(inventory->get_by_data(source.map, source.map->addr(), source.memory->size(), pydoca::Into(src)),
            "a source");
    require(inventory->get_by_addr(target.map, target.map->addr(), target.memory->size(), pydoca::Into(dst)),
            "a target");
    require(dma.memcpy(src.get(), dst.get(), 0, pydoca::Into(tasks[i])), "a task");
    require(pipeline.begin_next(*tasks[i]), "submit a task");
  }
  while (dma.num_inflight_tasks() > 0) {
    engine.drain(depth);
  }
  require(pipeline.failure, "copy");
}

void run() {
  const auto device = pydoca::Device::open(pydoca::find_device("03:00.0"));
  const Mapped source(device, piece * pieces);
  const Mapped target(device, piece * pieces);
  for (std::size_t i = 0; i < source.memory->size(); ++i) {
    source.memory->data()[i] = static_cast<std::byte>(i % 251);
  }
  const auto engine = pydoca::ProgressEngine::create();
  const auto dma = pydoca::Dma::create(device);
  Pipeline pipeline{.source = *source.map, .target = *target.map};
  dma->set_user_data(pydoca::as_user_data(&pipeline));
  dma->set_memcpy_conf(pydoca::calls<copied>, pydoca::calls<failed>, depth);
  engine->connect(dma);
  require(dma->start(), "start the context");
  copy_all(*dma, *engine, pipeline, source, target);
  require(dma->stop(), "stop the context");
  const bool same = std::memcmp(source.memory->data(), target.memory->data(), source.memory->size()) == 0;
  std::cout << pipeline.ended << " copies of " << piece << " bytes, " << (same ? "all the same" : "not the same")
            << '\n';
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::cerr << "pipeline: " << error.what() << '\n';
    return 1;
  }
  return 0;
}

// One process, one device, one copy: the life of a DMA task from opening the device to giving everything back.

#include <pydoca/buf_inventory.hpp>
#include <pydoca/dma.hpp>
#include <pydoca/handles.hpp>
#include <pydoca/memory.hpp>
#include <pydoca/progress_engine.hpp>

#include <cstring>
#include <exception>
#include <iostream>
#include <string_view>

namespace {

using pydoca::require;

/// A memory map over all of memory, started on device.
std::shared_ptr<pydoca::Mmap> map(const std::shared_ptr<pydoca::Device>& device,
                                  const std::shared_ptr<pydoca::Memory>& memory) {
  auto mmap = pydoca::Mmap::create();
  mmap->add_device(device);
  mmap->set_memrange(memory->data(), memory->size(), memory);
  mmap->start();
  return mmap;
}

// Callbacks are plain functions. The user data of the task says which copy has ended.
void ended(pydoca::DmaMemcpyTask&, bool* done) noexcept { *done = true; }

void copy(pydoca::Dma& dma, pydoca::ProgressEngine& engine, pydoca::Buf* src, pydoca::Buf* dst) {
  bool done = false;
  pydoca::TaskRef<pydoca::DmaMemcpyTask> task;
  require(dma.memcpy(src, dst, pydoca::as_user_data(&done), pydoca::Into(task)), "allocate the task");
  require(task->try_submit(), "submit the task");
  while (!done) {
    engine.progress();
  }
  require(task->status(), "copy");
}

void run(std::string_view text) {
  const auto device = pydoca::Device::open(pydoca::find_device("03:00.0"));
  const auto source = pydoca::Memory::allocate(text.size());
  const auto target = pydoca::Memory::allocate(text.size());
  std::memcpy(source->data(), text.data(), text.size());
  const auto source_map = map(device, source);
  const auto target_map = map(device, target);

  const auto inventory = pydoca::BufInventory::create(2);
  inventory->start();
  pydoca::BufRef src;
  pydoca::BufRef dst;
  require(inventory->get_by_data(source_map, source_map->addr(), text.size(), pydoca::Into(src)), "get the source buf");
  require(inventory->get_by_addr(target_map, target_map->addr(), text.size(), pydoca::Into(dst)),
          "get the destination buf");

  const auto engine = pydoca::ProgressEngine::create();
  const auto dma = pydoca::Dma::create(device);
  dma->set_memcpy_conf(pydoca::calls<ended>, pydoca::calls<ended>, 1);
  engine->connect(dma);
  require(dma->start(), "start the context");
  copy(*dma, *engine, src.get(), dst.get());
  require(dma->stop(), "stop the context");

  std::cout << std::string_view(reinterpret_cast<const char*>(target->data()), dst->data_len()) << '\n';
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : "Hello from the source buffer");
  } catch (const std::exception& error) {
    std::cerr << "dma_copy: " << error.what() << '\n';
    return 1;
  }
  return 0;
}

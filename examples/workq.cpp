// The flows of the DOCA 2.0 to 2.2 guides on a work queue: one polls, one waits for events, in one a job fails.

#include <pydoca/buf_inventory.hpp>
#include <pydoca/memory.hpp>
#include <pydoca/workq.hpp>

#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <unistd.h>

namespace {

namespace workq = pydoca::workq;
using pydoca::require;
using pydoca::Status;

constexpr std::uint32_t depth = 4;

std::shared_ptr<pydoca::Mmap> map(const std::shared_ptr<pydoca::Device>& device,
                                  const std::shared_ptr<pydoca::Memory>& memory, pydoca::Access access) {
  auto mmap = pydoca::Mmap::create();
  mmap->add_device(device);
  mmap->set_permissions(access);
  mmap->set_memrange(memory->data(), memory->size(), memory);
  mmap->start();
  return mmap;
}

/// The objects that the guides' samples call core objects.
struct Sample {
  Sample(std::string_view text, pydoca::Access target_access)
      : source(pydoca::Memory::allocate(text.size())),
        target(pydoca::Memory::allocate(text.size())),
        source_map(map(device, source, pydoca::Access::local_read_only)),
        target_map(map(device, target, target_access)) {
    std::memcpy(source->data(), text.data(), text.size());
    inventory->start();
    require(inventory->get_by_data(source_map, source_map->addr(), text.size(), src_buf), "get the source buf");
    require(inventory->get_by_addr(target_map, target_map->addr(), text.size(), dst_buf), "get the destination buf");
  }
  ~Sample() {
    require(src_buf->dec_refcount(), "give back a buf");
    require(dst_buf->dec_refcount(), "give back a buf");
  }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;

  workq::DmaMemcpyJob job(std::uint64_t user_data) const {
    return {.ctx = dma.get(), .dst_buff = dst_buf, .src_buff = src_buf, .user_data = user_data};
  }
  std::string_view copied() const { return {reinterpret_cast<const char*>(target->data()), dst_buf->data_len()}; }

  std::shared_ptr<pydoca::Device> device = pydoca::Device::open(pydoca::find_device("03:00.0"));
  std::shared_ptr<pydoca::Memory> source;
  std::shared_ptr<pydoca::Memory> target;
  std::shared_ptr<pydoca::Mmap> source_map;
  std::shared_ptr<pydoca::Mmap> target_map;
  std::shared_ptr<pydoca::BufInventory> inventory = pydoca::BufInventory::create(2);
  pydoca::Buf* src_buf = nullptr;
  pydoca::Buf* dst_buf = nullptr;
  std::shared_ptr<pydoca::Dma> dma = pydoca::Dma::create(device);  // doca_dma_create, doca_ctx_dev_add
};

void poll(std::string_view text) {
  const Sample sample(text, pydoca::Access::local_read_write);
  const auto queue = workq::WorkQueue::create(depth);  // doca_workq_create
  queue->add(sample.dma);                              // doca_ctx_start, doca_ctx_workq_add
  require(queue->submit(sample.job(1)), "submit");     // doca_workq_submit
  workq::Event event;
  Status status = Status::again;
  while (status == Status::again) {
    status = queue->progress_retrieve(event);  // doca_workq_progress_retrieve
  }
  require(status, "retrieve");
  std::cout << "polling: job " << event.user_data << " copied: " << sample.copied() << '\n';
  queue->remove(*sample.dma);  // doca_ctx_workq_rm, doca_ctx_stop
}

void wait_for_events(std::string_view text) {
  const Sample sample(text, pydoca::Access::local_read_write);
  const auto queue = workq::WorkQueue::create(depth);
  queue->set_event_driven(true);  // doca_workq_set_event_driven_enable
  queue->add(sample.dma);
  const int epoll = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event readable{.events = EPOLLIN, .data = {}};
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, queue->event_handle(), &readable);  // doca_workq_get_event_handle
  require(queue->submit(sample.job(2)), "submit");
  workq::Event event;
  Status status = Status::again;
  while (status == Status::again) {
    queue->event_handle_arm();  // doca_workq_event_handle_arm, before every wait
    ::epoll_wait(epoll, &readable, 1, 10'000);
    queue->event_handle_clear();  // doca_workq_event_handle_clear, after it
    status = queue->progress_retrieve(event);
  }
  ::close(epoll);
  require(status, "retrieve");
  std::cout << "event-driven: job " << event.user_data << " copied: " << sample.copied() << '\n';
  queue->remove(*sample.dma);
}

void fail(std::string_view text) {
  const Sample sample(text, pydoca::Access::local_read_only);  // which the device cannot write
  const auto queue = workq::WorkQueue::create(depth);
  queue->add(sample.dma);
  require(queue->submit(sample.job(3)), "submit");
  workq::Event event;
  while (queue->progress_retrieve(event) != Status::io_failed) {  // then the event is valid
  }
  std::cout << "failing: job " << event.user_data << " ended with " << pydoca::error_name(event.result) << '\n';
  queue->remove(*sample.dma);  // a job that failed has stopped its context: remove it ...
  queue->add(sample.dma);      // ... and it starts again
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view text = argc > 1 ? argv[1] : "This is a sample piece of text";
  try {
    poll(text);
    wait_for_events(text);
    fail(text);
  } catch (const std::exception& error) {
    std::cerr << "workq: " << error.what() << '\n';
    return 1;
  }
  return 0;
}

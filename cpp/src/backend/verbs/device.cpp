#include "backend/verbs/device.hpp"

#include "backend/verbs/library/failure.hpp"
#include "backend/verbs/memory/region.hpp"
#include "backend/verbs/queue/copy_queue.hpp"
#include "backend/verbs/rdma/counter.hpp"
#include "backend/verbs/rdma/rdma_queue.hpp"
#include "detail/concat.hpp"

namespace pydoca::verbs {

Status Device::read_clock(backend::DeviceClock clock, std::uint64_t& value) noexcept {
  if (clock != backend::DeviceClock::free_running) {
    return Status::not_supported;
  }
  if (removed()) {
    return Status::driver;
  }
  const int error = place_.adapter().read_counter(value);
  return error == 0 ? Status::success : status_of(error);
}

std::unique_ptr<backend::MemoryRegion> Device::register_memory(const backend::MemoryRange& range, Access access) {
  place_.require_present("register memory");
  return std::make_unique<LocalRegion>(place_, range, access);
}

backend::ImportedRegion Device::import_memory(std::span<const std::byte> blob,
                                              const std::shared_ptr<backend::ImportAnswer>& /*answer*/) {
  place_.require_present("import memory");
  return import_region(blob);
}

std::unique_ptr<backend::DataQueue> Device::create_queue(const backend::EngineTraits& engine,
                                                         const backend::QueueOptions& options,
                                                         backend::Notifier& notifier) {
  place_.require_present(detail::concat("create ", engine.queue));
  if (engine.name != CopyQueue::engine) {
    return backend::Device::create_queue(engine, options, notifier);
  }
  return std::make_unique<CopyQueue>(place_, options, notifier);
}

std::unique_ptr<backend::RdmaQueue> Device::create_rdma_queue(const backend::RdmaOptions& options,
                                                              backend::Notifier& notifier) {
  place_.require_present("start rdma");
  return std::make_unique<RdmaQueue>(place_, options, notifier);
}

std::unique_ptr<backend::Counter> Device::create_counter(const backend::MemoryRange* memory) {
  place_.require_present("create a sync event");
  return verbs::create_counter(place_, memory);
}

std::unique_ptr<backend::Counter> Device::import_counter(std::span<const std::byte> blob, backend::CounterScope scope,
                                                         const std::shared_ptr<backend::ImportAnswer>& /*answer*/) {
  place_.require_present("import a sync event");
  return verbs::import_counter(blob, scope);
}

}  // namespace pydoca::verbs

#include "backend/verbs/device.hpp"

#include "backend/verbs/copy_queue.hpp"
#include "backend/verbs/counter.hpp"
#include "backend/verbs/failure.hpp"
#include "backend/verbs/rdma_queue.hpp"
#include "backend/verbs/region.hpp"

#include <cerrno>

namespace pydoca::verbs {

namespace {

OwnedDomain create_domain(const Adapter& adapter) {
  OwnedDomain domain(library().alloc_pd(adapter.context()));
  if (domain == nullptr) {
    fail(errno, "open ", adapter.name(), ": allocate a protection domain");
  }
  return domain;
}

}  // namespace

Device::Device(const std::string& name, std::size_t ordinal)
    : adapter_(name),
      ordinal_(ordinal),
      gid_index_(adapter_.best_gid_index()),
      domain_(create_domain(adapter_)),
      removal_(*adapter_.context(), false, async_events_) {}

Device::Device(ibv_pd& borrowed, std::size_t ordinal)
    : adapter_(*borrowed.context),
      ordinal_(ordinal),
      gid_index_(adapter_.best_gid_index()),
      domain_(&borrowed, {.borrowed = true}),
      removal_(*adapter_.context(), true, async_events_) {}

void Device::require_present(std::string_view what) {
  if (removed()) {
    throw Error(Status::driver,
                detail::concat(what, ": ", adapter_.name(), " was removed; close it, and open it when it is back"));
  }
}

std::unique_ptr<backend::MemoryRegion> Device::register_memory(const backend::MemoryRange& range, Access access) {
  require_present("register memory");
  return std::make_unique<LocalRegion>(*this, range, access);
}

backend::ImportedRegion Device::import_memory(std::span<const std::byte> blob) {
  require_present("import memory");
  return import_region(blob);
}

std::unique_ptr<backend::CopyQueue> Device::create_copy_queue(const backend::QueueOptions& options,
                                                              backend::Notifier& notifier) {
  require_present("create a DMA queue");
  return std::make_unique<CopyQueue>(*this, options, notifier);
}

std::unique_ptr<backend::RdmaQueue> Device::create_rdma_queue(const backend::RdmaOptions& options,
                                                              backend::Notifier& notifier) {
  require_present("start rdma");
  return std::make_unique<RdmaQueue>(*this, options, notifier);
}

std::unique_ptr<backend::Counter> Device::create_counter(const backend::MemoryRange* memory) {
  require_present("create a sync event");
  return verbs::create_counter(*this, memory);
}

std::unique_ptr<backend::Counter> Device::import_counter(std::span<const std::byte> blob, backend::CounterScope scope) {
  require_present("import a sync event");
  return verbs::import_counter(blob, scope);
}

}  // namespace pydoca::verbs

#include "backend/faulty/device.hpp"

#include "pydoca/device_properties.hpp"

#include "backend/faulty/channel.hpp"
#include "backend/faulty/counter.hpp"
#include "backend/faulty/data_queue.hpp"
#include "backend/faulty/rdma_queue.hpp"
#include "detail/concat.hpp"

namespace pydoca::faulty {

void Device::require_present(std::string_view what) const {
  if (faults_.removed()) {
    throw Error(Status::driver, detail::concat(what, ": a fault plan has removed the device"));
  }
}

void Device::watch_removal(backend::Notifier& notifier) {
  inner_->watch_removal(notifier);
  faults_.watch(notifier);
}

void Device::unwatch_removal(backend::Notifier& notifier) noexcept {
  faults_.unwatch(notifier);
  inner_->unwatch_removal(notifier);
}

std::vector<RepresentorProperties> Device::representors(RepFilter filter) {
  require_present("list representors");
  return inner_->representors(filter);
}

std::vector<RepresentorProperties> Device::find_representors(std::string_view word) {
  require_present("find a representor");
  return inner_->find_representors(word);
}

std::unique_ptr<backend::Processor> Device::create_processor() {
  require_present("run kernels");
  return inner_->create_processor();
}

void Device::accelerate_resource_reclaim() {
  require_present("accelerate resource reclaim");
  inner_->accelerate_resource_reclaim();
}

Status Device::read_clock(backend::DeviceClock clock, std::uint64_t& value) noexcept {
  return faults_.removed() ? Status::driver : inner_->read_clock(clock, value);
}

std::unique_ptr<backend::MemoryRegion> Device::register_memory(const backend::MemoryRange& range, Access access) {
  require_present("register memory");
  auto region = inner_->register_memory(range, access);
  faults_.note_region(*region, false);
  return region;
}

std::shared_ptr<backend::ImportAnswer> Device::ask_for_memory(std::span<const std::byte> blob) {
  require_present("import memory");
  return inner_->ask_for_memory(blob);
}

backend::ImportedRegion Device::import_memory(std::span<const std::byte> blob,
                                              const std::shared_ptr<backend::ImportAnswer>& answer) {
  require_present("import memory");
  backend::ImportedRegion imported = inner_->import_memory(blob, answer);
  faults_.note_region(*imported.region, true);
  return imported;
}

std::unique_ptr<backend::DataQueue> Device::create_queue(const backend::EngineTraits& engine,
                                                         const backend::QueueOptions& options,
                                                         backend::Notifier& notifier) {
  require_present(detail::concat("create ", engine.queue));
  return std::make_unique<DataQueue>(inner_->create_queue(engine, options, notifier), engine, options, faults_, *inner_,
                                     notifier);
}

std::unique_ptr<backend::RdmaQueue> Device::create_rdma_queue(const backend::RdmaOptions& options,
                                                              backend::Notifier& notifier) {
  require_present("create a queue for RDMA");
  return std::make_unique<RdmaQueue>(inner_->create_rdma_queue(options, notifier), faults_, *inner_, notifier);
}

std::unique_ptr<backend::Counter> Device::create_counter(const backend::MemoryRange* memory) {
  require_present("create a counter");
  return std::make_unique<Counter>(inner_->create_counter(memory), faults_);
}

std::shared_ptr<backend::ImportAnswer> Device::ask_for_counter(std::span<const std::byte> blob,
                                                               backend::CounterScope scope) {
  require_present("import a counter");
  return inner_->ask_for_counter(blob, scope);
}

std::unique_ptr<backend::Counter> Device::import_counter(std::span<const std::byte> blob, backend::CounterScope scope,
                                                         const std::shared_ptr<backend::ImportAnswer>& answer) {
  require_present("import a counter");
  std::unique_ptr<backend::Counter> inner = inner_->import_counter(blob, scope, answer);
  if (scope == backend::CounterScope::remote_net) {
    return inner;  // an operand of the device's own queues
  }
  return std::make_unique<Counter>(std::move(inner), faults_);
}

std::unique_ptr<backend::Listener> Device::listen(const RepresentorProperties& representor, std::string_view service,
                                                  const backend::ChannelOptions& options) {
  require_present("serve comch clients");
  return std::make_unique<Listener>(inner_->listen(representor, service, options), faults_);
}

std::unique_ptr<backend::Dialer> Device::dial(std::string_view service, const backend::ChannelOptions& options) {
  require_present("reach a comch server");
  return std::make_unique<Dialer>(inner_->dial(service, options), faults_);
}

}  // namespace pydoca::faulty

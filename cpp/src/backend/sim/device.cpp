#include "backend/sim/device.hpp"

#include "pydoca/device_properties.hpp"

#include "backend/sim/comch/channel.hpp"
#include "backend/sim/counter/counter.hpp"
#include "backend/sim/dpa/processor.hpp"
#include "backend/sim/import/importer.hpp"
#include "backend/sim/memory/local_region.hpp"
#include "backend/sim/rdma/rdma_queue.hpp"
#include "backend/sim/time/modelled_counter.hpp"
#include "backend/sim/time/modelled_rdma.hpp"
#include "backend/sim/time/models.hpp"
#include "backend/sim/time/timed_operation.hpp"
#include "backend/sim/time/timed_queue.hpp"
#include "backend/sim/work/data_engine.hpp"
#include "detail/concat.hpp"

#include <algorithm>
#include <utility>

namespace pydoca::sim {

namespace {

bool can_filter(const Capabilities& capabilities, RepFilter filter) noexcept {
  const auto mask = static_cast<std::uint32_t>(filter);
  const bool net = (mask & static_cast<std::uint32_t>(RepFilter::net)) != 0;
  const bool emulated = (mask & static_cast<std::uint32_t>(RepFilter::emulated)) != 0;
  if (filter == RepFilter::all) {
    return capabilities.rep_filter_all;
  }
  return (!net || capabilities.rep_filter_net) && (!emulated || capabilities.rep_filter_emulated);
}

}  // namespace

Device::Device(PresentFunction present, std::string fabric, std::size_t ordinal)
    : place_(std::move(present), std::move(fabric), ordinal),
      engine_(place_.removal().happened(), place_.properties().name, place_.properties().side),
      clock_(place_.properties()),
      config_(config_number()),
      model_(model_of(place_.function())) {}

bool Device::replaced() const noexcept { return place_.replaced() || config_ != config_number(); }

void Device::require_present(std::string_view what) const {
  if (removed()) {
    throw Error(Status::driver,
                detail::concat(what, ": ", properties().name, " was removed; open it again when it is back"));
  }
}

void Device::join_traces() noexcept {
  const std::lock_guard lock(member_mutex_);
  if (member_ == nullptr) {
    member_ = Member::of(place_.fabric());
  }
}

/// A context starts: from now on the process has something to trace.
void Device::watch_removal(backend::Notifier& notifier) {
  place_.removal().watch(notifier);
  join_traces();
}

std::vector<RepresentorProperties> Device::representors(RepFilter filter) {
  require_filter(filter);
  return representors_of(properties().name, filter);
}

std::vector<RepresentorProperties> Device::find_representors(std::string_view word) {
  require_filter(RepFilter::all);
  return word.empty() ? std::vector<RepresentorProperties>() : representors_of(properties().name, RepFilter::all, word);
}

void Device::require_filter(RepFilter filter) const {
  require_present("list representors");
  const auto mask = static_cast<std::uint32_t>(filter);
  if ((mask & ~(static_cast<std::uint32_t>(RepFilter::net) | static_cast<std::uint32_t>(RepFilter::emulated))) != 0) {
    throw Error(Status::invalid_value, detail::concat("list representors: ", mask, " is not a filter"));
  }
  if (!can_filter(capabilities(), filter)) {
    throw Error(Status::not_supported,
                detail::concat("list representors of ", properties().name, ": ",
                               capabilities().rep_filter_all ? "it cannot filter them like that; use the filter all"
                                                             : "it has none; open a physical function of the DPU"));
  }
}

void Device::accelerate_resource_reclaim() { require_present("accelerate resource reclaim"); }

Status Device::read_clock(backend::DeviceClock clock, std::uint64_t& value) noexcept {
  return removed() ? Status::driver : clock_.read(clock, value);
}

std::unique_ptr<backend::MemoryRegion> Device::register_memory(const backend::MemoryRange& range, Access access) {
  require_present("register memory");
  return std::make_unique<LocalRegion>(place_, range, access);
}

std::optional<BlobType> Device::importable_type(std::span<const std::byte> blob) const {
  const bool over_pci = capabilities().mmap_create_from_export_pci;
  // On a device that imports nothing over PCIe, the import from the network refuses bytes that are not an export.
  if (claims_type(blob, BlobType::net_memory) || (!over_pci && !claims_type(blob, BlobType::memory))) {
    return capabilities().rdma.has_value() ? std::optional(BlobType::net_memory) : std::nullopt;
  }
  if (!over_pci) {
    throw Error(Status::not_supported,
                detail::concat("import memory: ", properties().name,
                               " cannot import over PCIe; use a function on the DPU, or export over RDMA"));
  }
  return BlobType::memory;
}

std::shared_ptr<backend::ImportAnswer> Device::ask_for_memory(std::span<const std::byte> blob) {
  require_present("import memory");
  const auto type = importable_type(blob);
  return type.has_value() ? ask_owner(place_, blob, *type) : nullptr;
}

backend::ImportedRegion Device::import_memory(std::span<const std::byte> blob,
                                              const std::shared_ptr<backend::ImportAnswer>& answer) {
  require_present("import memory");
  const auto type = importable_type(blob);
  return type.has_value() ? import_region(place_, blob, *type, answer) : backend::Device::import_memory(blob, answer);
}

std::unique_ptr<backend::RdmaQueue> Device::create_rdma_queue(const backend::RdmaOptions& options,
                                                              backend::Notifier& notifier) {
  require_present("create a queue for RDMA");
  if (!capabilities().rdma.has_value()) {
    return backend::Device::create_rdma_queue(options, notifier);
  }
  auto queue = std::make_unique<RdmaQueue>(place_, options, notifier);
  if (model_ == nullptr || !ModelledRdmaQueue::applies_to(*model_)) {
    return queue;
  }
  return std::make_unique<ModelledRdmaQueue>(std::move(queue), model_, place_, options, notifier);
}

std::unique_ptr<backend::DataQueue> Device::create_queue(const backend::EngineTraits& engine,
                                                         const backend::QueueOptions& options,
                                                         backend::Notifier& notifier) {
  require_present(detail::concat("create ", engine.queue));
  const auto own = std::ranges::find(data_engines(), engine.name, &DataEngine::name);
  if (own == data_engines().end() || !engine.is_present(capabilities())) {
    return backend::Device::create_queue(engine, options, notifier);
  }
  const EnginePlace place{.workers = engine_, .capabilities = capabilities(), .ordinal = place_.ordinal()};
  auto queue = (*own)->create(place, options, notifier);
  const TimedOperation operation = timed_operation_of(**own);
  const Pace* const pace = model_ != nullptr ? model_->pace(operation) : nullptr;
  if (pace == nullptr) {
    return queue;
  }
  return std::make_unique<ModelledQueue>(std::move(queue), model_, operation, *pace, place_, options, notifier);
}

std::unique_ptr<backend::Counter> Device::create_counter(const backend::MemoryRange* memory) {
  require_present("create a counter");
  join_traces();
  return modelled(sim::create_counter(place_, memory), {});
}

std::shared_ptr<backend::ImportAnswer> Device::ask_for_counter(std::span<const std::byte> blob,
                                                               backend::CounterScope scope) {
  require_present("import a counter");
  return ask_owner(place_, blob, blob_type_of(scope));
}

std::unique_ptr<backend::Counter> Device::import_counter(std::span<const std::byte> blob, backend::CounterScope scope,
                                                         const std::shared_ptr<backend::ImportAnswer>& answer) {
  require_present("import a counter");
  join_traces();
  auto counter = sim::import_counter(place_, blob, blob_type_of(scope), answer);
  if (scope == backend::CounterScope::remote_net) {
    return counter;  // an operand of RDMA's operations, which have their own time
  }
  const bool is_host = properties().side == Side::host;
  constexpr std::uint64_t size = sizeof(std::uint64_t);
  return modelled(std::move(counter), {.to_card = is_host ? size : 0, .to_host = is_host ? 0 : size});
}

std::unique_ptr<backend::Counter> Device::modelled(std::unique_ptr<backend::Counter> counter,
                                                   const Crossing& crossing) const {
  if (model_ == nullptr || !ModelledCounter::applies_to(*model_)) {
    return counter;
  }
  return std::make_unique<ModelledCounter>(std::move(counter), model_, crossing);
}

std::optional<ChannelModel> Device::channel_model(const backend::ChannelOptions& options) const {
  const Pace* const pace = model_ != nullptr ? model_->pace(TimedOperation::comch_send) : nullptr;
  if (pace == nullptr) {
    return std::nullopt;
  }
  const std::uint32_t depth = pace->queue_depth;
  return ChannelModel{.model = model_,
                      .side = properties().side,
                      .depth = depth != 0 ? std::min(depth, options.send_queue_size) : options.send_queue_size};
}

std::unique_ptr<backend::Processor> Device::create_processor() {
  require_present("create a DPA");
  return capabilities().dpa.has_value() ? std::make_unique<Processor>(properties().name)
                                        : backend::Device::create_processor();
}

std::unique_ptr<backend::Listener> Device::listen(const RepresentorProperties& representor, std::string_view service,
                                                  const backend::ChannelOptions& options) {
  require_present("serve comch clients");
  if (!capabilities().comch.has_value() || !capabilities().comch->server) {
    return backend::Device::listen(representor, service, options);
  }
  auto listener = sim::listen(place_.fabric(), representor.pci_addr, service, options);
  if (auto model = channel_model(options)) {
    return std::make_unique<ModelledListener>(std::move(listener), *std::move(model));
  }
  return listener;
}

std::unique_ptr<backend::Dialer> Device::dial(std::string_view service, const backend::ChannelOptions& options) {
  require_present("reach a comch server");
  if (!capabilities().comch.has_value() || !capabilities().comch->client) {
    return backend::Device::dial(service, options);
  }
  auto dialer = sim::dial(place_.fabric(), properties().pci_addr, service, options);
  if (auto model = channel_model(options)) {
    return std::make_unique<ModelledDialer>(std::move(dialer), *std::move(model));
  }
  return dialer;
}

}  // namespace pydoca::sim

#include "pydoca/backend/channel.hpp"
#include "pydoca/backend/counter.hpp"
#include "pydoca/backend/device.hpp"
#include "pydoca/backend/engine.hpp"
#include "pydoca/backend/memory.hpp"
#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/processor.hpp"
#include "pydoca/backend/rdma.hpp"
#include "pydoca/device_properties.hpp"

#include "detail/concat.hpp"

namespace pydoca::backend {

namespace {

[[noreturn]] void refuse(std::string_view what) {
  throw Error(Status::not_supported, detail::concat("this device cannot ", what));
}

}  // namespace

std::vector<std::byte> MemoryRegion::export_pci(Access /*access*/) { refuse("export memory over PCIe"); }

std::vector<std::byte> MemoryRegion::export_rdma(Access /*access*/) { refuse("export memory to the network"); }

std::uint32_t MemoryRegion::mkey() const { refuse("name a memory key: it is none of rdma-core"); }

std::shared_ptr<ImportAnswer> QueuePair::ask_peer(std::span<const std::byte> /*blob*/) { return nullptr; }

void RdmaQueue::listen(std::uint16_t /*port*/) { refuse("listen to a port: it has no connection manager"); }

void RdmaQueue::stop_listening(std::uint16_t /*port*/) noexcept {}

std::unique_ptr<QueuePair> RdmaQueue::connect_to(const RdmaAddress& /*address*/,
                                                 std::span<const std::byte> /*private_data*/) {
  refuse("connect to an address: it has no connection manager; exchange the connections' blobs");
}

std::vector<RepresentorProperties> Device::representors(RepFilter /*filter*/) {
  refuse("list representors; only a physical function of the DPU has them");
}

std::vector<RepresentorProperties> Device::find_representors(std::string_view word) {
  std::vector<RepresentorProperties> found = representors(RepFilter::all);
  std::erase_if(found, [&](const RepresentorProperties& one) {
    return word.empty() || (one.name != word && one.iface_name != word && one.pci_addr != word);
  });
  return found;
}

void Device::accelerate_resource_reclaim() {
  refuse("accelerate the reclaim of resources: it keeps none that are costly to make again");
}

std::unique_ptr<MemoryRegion> Device::register_memory(const MemoryRange& /*range*/, Access /*access*/) {
  refuse("register memory");
}

ImportedRegion Device::import_memory(std::span<const std::byte> /*blob*/,
                                     const std::shared_ptr<ImportAnswer>& /*answer*/) {
  refuse("import memory");
}

std::shared_ptr<ImportAnswer> Device::ask_for_memory(std::span<const std::byte> /*blob*/) { return nullptr; }

void* Device::protection_domain() const { refuse("give a protection domain: it is none of rdma-core"); }

std::vector<SharedProperties> Backend::list() {
  std::vector<SharedProperties> functions;
  for (DeviceProperties& properties : enumerate()) {
    functions.push_back(std::make_shared<const DeviceProperties>(std::move(properties)));
  }
  return functions;
}

std::vector<SharedProperties> Backend::find(std::string_view word) {
  std::vector<SharedProperties> functions = list();
  std::erase_if(functions, [&](const SharedProperties& one) {
    return word.empty() ||
           (one->pci_addr != word && one->name != word && one->ibdev_name != word && one->iface_name != word);
  });
  return functions;
}

AdoptedDevice Backend::adopt(void* /*protection_domain*/, std::size_t /*ordinal*/) {
  refuse("be made of a protection domain: rdma-core is not there");
}

std::unique_ptr<RdmaQueue> Device::create_rdma_queue(const RdmaOptions& /*options*/, Notifier& /*notifier*/) {
  refuse("do RDMA");
}

std::unique_ptr<DataQueue> Device::create_queue(const EngineTraits& engine, const QueueOptions& /*options*/,
                                                Notifier& /*notifier*/) {
  refuse(engine.lack);
}

std::unique_ptr<Counter> Device::create_counter(const MemoryRange* /*memory*/) { refuse("make sync events"); }

std::shared_ptr<ImportAnswer> Device::ask_for_counter(std::span<const std::byte> /*blob*/, CounterScope /*scope*/) {
  return nullptr;
}

std::unique_ptr<Counter> Device::import_counter(std::span<const std::byte> /*blob*/, CounterScope /*scope*/,
                                                const std::shared_ptr<ImportAnswer>& /*answer*/) {
  refuse("import sync events");
}

std::unique_ptr<Processor> Device::create_processor() { refuse("run kernels: it has no DPA"); }

std::unique_ptr<Listener> Device::listen(const RepresentorProperties& /*representor*/, std::string_view /*service*/,
                                         const ChannelOptions& /*options*/) {
  refuse("serve comch clients");
}

std::unique_ptr<Dialer> Device::dial(std::string_view /*service*/, const ChannelOptions& /*options*/) {
  refuse("reach a comch server");
}

}  // namespace pydoca::backend

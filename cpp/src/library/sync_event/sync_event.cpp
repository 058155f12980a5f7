#include "library/sync_event/sync_event.hpp"

#include "pydoca/backend/device.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/log.hpp"

#include "core/violation.hpp"
#include "detail/concat.hpp"
#include "detail/text/enumerators.hpp"
#include "library/operands.hpp"

#include <utility>

namespace pydoca {

namespace {

using EventPhase = library::SyncEvent::Phase;

constexpr std::string_view name_of(SyncEventLocation location) noexcept {
  constexpr std::string_view names[] = {"none", "cpu", "remote_pci", "remote_net", "dpa", "gpu"};
  return names[static_cast<std::size_t>(location)];
}

const SyncEventCapabilities& capabilities(const DeviceInfo& info) noexcept {
  static constexpr SyncEventCapabilities nothing;
  return info.capabilities().sync_event.has_value() ? *info.capabilities().sync_event : nothing;
}

template <class... Pieces>
[[noreturn]] void refuse(Status status, std::string_view what, const Pieces&... why) {
  throw Error(status, detail::concat(what, ": ", why...));
}

void refuse_processor(std::string_view what, SyncEventLocation location) {
  detail::require_one_of(what, location, SyncEventLocation::gpu, "location");
  if (location == SyncEventLocation::gpu) {
    refuse(Status::not_supported, what, "a gpu location needs a GPU, and there is none");
  }
  if (location == SyncEventLocation::cpu || location == SyncEventLocation::none || location == SyncEventLocation::dpa) {
    refuse(Status::invalid_value, what, "\"", name_of(location), "\" needs a device or a DPA, or is not a location");
  }
}

void set_location(std::string_view what, SyncEventLocation& where, SyncEventLocation location) {
  if (where != SyncEventLocation::none) {
    refuse(Status::invalid_value, what, "the event has one, ", name_of(where), ", and takes exactly one");
  }
  where = location;
}

void log_event(std::string_view what, const Device& device) noexcept {
  log::engine(log::Level::debug, "sync_event", [&] { return detail::concat(what, device.info().name()); });
}

void require_import(const Device& device) {
  if (!SyncEvent::is_create_from_export_supported(device.info())) {
    refuse(Status::not_supported, "import sync event", device.info().name(), " cannot");
  }
}

void require_import_from_net(const Device& device) {
  if (!SyncEvent::is_remote_net_create_from_export_supported(device.info())) {
    refuse(Status::not_supported, "import sync event from the network", device.info().name(), " cannot");
  }
}

}  // namespace

std::shared_ptr<SyncEvent> SyncEvent::create() { return std::make_shared<library::SyncEvent>(); }

std::shared_ptr<SyncEvent> SyncEvent::create_from_export(std::shared_ptr<Device> device,
                                                         std::span<const std::byte> blob) {
  return create_from_export(std::move(device), blob, nullptr);
}

std::shared_ptr<backend::ImportAnswer> SyncEvent::ask_for_export(const std::shared_ptr<Device>& device,
                                                                 std::span<const std::byte> blob) {
  const DeviceUse use(device, DeviceUser::sync_event);
  require_import(*device);
  return device->backend().ask_for_counter(blob, backend::CounterScope::remote_pci);
}

std::shared_ptr<SyncEvent> SyncEvent::create_from_export(std::shared_ptr<Device> device,
                                                         std::span<const std::byte> blob,
                                                         const std::shared_ptr<backend::ImportAnswer>& answer) {
  auto event = std::make_shared<library::SyncEvent>();
  event->use_ = std::make_unique<DeviceUse>(device, DeviceUser::sync_event);
  event->device_ = std::move(device);
  require_import(*event->device_);
  event->counter_ = event->device_->backend().import_counter(blob, backend::CounterScope::remote_pci, answer);
  event->imported_ = true;
  log_event("imported on ", *event->device_);
  return event;
}

library::SyncEvent::~SyncEvent() {
  counter_.reset();
  detail::Operands::take_back(buf_);
}

std::string SyncEvent::explain(Status status) const {
  const library::SyncEvent& own = library::of(*this);
  if (const std::uint32_t rule = own.counter_ != nullptr ? own.counter_->failed_by(status) : 0; rule != 0) {
    return detail::explain_fault(rule);
  }
  switch (status) {
    case Status::time_out:
      return "the time allowed has passed, and the value has not come";
    case Status::connection_reset:
      return own.imported_ ? "the process that exported it is gone; import another"
                           : "a process that had imported it is gone; waiting again waits for the others";
    case Status::not_connected:
      return std::string(own.imported_ ? library::owner_left : library::importers_left);
    case Status::io_failed:
      return library::explain_dpa_failure(own);
    case Status::again:
      return "a signal ended it; call again";
    case Status::driver:
      return own.device_ != nullptr ? detail::explain_driver_failure(*own.device_) : std::string(error_descr(status));
    case Status::bad_state:
      return std::string(own.explain_phase());
    default:
      return std::string(error_descr(status));
  }
}

std::string_view library::SyncEvent::explain_phase() const noexcept {
  switch (phase()) {
    case Phase::configuring:
      return context_.expired() ? "it is not started; start it first"
                                : "it is asynchronous; use the tasks of its context";
    case Phase::synchronous:
      return "another thread has stopped it; make another";
    case Phase::asynchronous:
      return "it is asynchronous; use the tasks of its context";
    case Phase::stopped:
      return "it is stopped; make another";
    case Phase::closed:
      return "it is closed; make another";
  }
  return {};
}

bool SyncEvent::is_supported(const DeviceInfo& info) noexcept { return info.capabilities().sync_event.has_value(); }
bool SyncEvent::is_export_to_remote_pci_supported(const DeviceInfo& info) noexcept {
  return capabilities(info).export_to_remote_pci;
}
bool SyncEvent::is_create_from_export_supported(const DeviceInfo& info) noexcept {
  return capabilities(info).create_from_export;
}
bool SyncEvent::is_export_to_remote_net_supported(const DeviceInfo& info) noexcept {
  return capabilities(info).export_to_remote_net;
}
bool SyncEvent::is_remote_net_create_from_export_supported(const DeviceInfo& info) noexcept {
  return capabilities(info).remote_net_create_from_export;
}
bool SyncEvent::is_export_to_dpa_supported(const DeviceInfo& info) noexcept { return capabilities(info).export_to_dpa; }

void library::SyncEvent::require_configurable(std::string_view what, Status refusal) const {
  if (imported_) {
    refuse(refusal, what, "the event was imported, and its exporter configured it");
  }
  if (phase() != Phase::configuring || !context_.expired()) {
    refuse(refusal, what, "the event is configured before it is started or made a context");
  }
}

void library::SyncEvent::add_device(std::string_view what, std::shared_ptr<Device> device) {
  auto use = std::make_unique<DeviceUse>(device, DeviceUser::sync_event);
  if (device_ != nullptr && device_ != device) {
    refuse(Status::invalid_value, what, "the event is on ", device_->info().name(),
           " already; locations on this CPU and its DPA "
           "take the same device");
  }
  if (!is_supported(device->info())) {
    refuse(Status::not_supported, what, device->info().name(), " has no sync events");
  }
  device_ = std::move(device);
  use_ = std::move(use);
}

void library::SyncEvent::add_cpu(std::string_view what, SyncEventLocation& where, std::shared_ptr<Device> device) {
  require_configurable(what, Status::invalid_value);
  SyncEventLocation added = where;
  set_location(what, added, SyncEventLocation::cpu);
  add_device(what, std::move(device));
  where = added;
}

void SyncEvent::add_publisher_location_cpu(std::shared_ptr<Device> device) {
  library::SyncEvent& own = library::of(*this);
  own.add_cpu("add publisher location", own.publisher_, std::move(device));
}

void SyncEvent::add_subscriber_location_cpu(std::shared_ptr<Device> device) {
  library::SyncEvent& own = library::of(*this);
  own.add_cpu("add subscriber location", own.subscriber_, std::move(device));
}

void SyncEvent::add_publisher_location(SyncEventLocation location) {
  library::SyncEvent& own = library::of(*this);
  constexpr std::string_view what = "add publisher location";
  own.require_configurable(what, Status::invalid_value);
  refuse_processor(what, location);
  set_location(what, own.publisher_, location);
}

void SyncEvent::add_subscriber_location(SyncEventLocation location) {
  library::SyncEvent& own = library::of(*this);
  constexpr std::string_view what = "add subscriber location";
  own.require_configurable(what, Status::invalid_value);
  refuse_processor(what, location);
  if (location == SyncEventLocation::remote_net) {
    refuse(Status::not_supported, what, "a network peer can publish, not subscribe; wait on this side");
  }
  set_location(what, own.subscriber_, location);
}

void SyncEvent::set_addr(void* address, std::shared_ptr<const void> owner) {
  library::SyncEvent& own = library::of(*this);
  own.require_configurable("set addr", Status::bad_state);
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  if (address == nullptr || number % sizeof(std::uint64_t) != 0) {
    refuse(Status::invalid_value, "set addr", detail::hex(number), " is not an address of 8 aligned bytes");
  }
  if (own.buf_ != nullptr) {
    refuse(Status::invalid_value, "set addr", "the event lives in a buf (set_buf) already");
  }
  own.word_ = {static_cast<std::uint64_t*>(address), std::move(owner)};
}

void SyncEvent::set_outlives_importers(bool outlives) {
  library::SyncEvent& own = library::of(*this);
  own.require_configurable("set outlives importers", Status::bad_state);
  own.outlives_importers_ = outlives;
}

void SyncEvent::set_buf(Buf& buf) {
  library::SyncEvent& own = library::of(*this);
  own.require_configurable("set buf", Status::bad_state);
  if (buf.data_len() != sizeof(std::uint64_t) || buf.data() % sizeof(std::uint64_t) != 0 || buf.is_in_list()) {
    refuse(Status::invalid_value, "set buf", "the data section must be 8 aligned bytes of a single element, and is ",
           buf.data_len(), " bytes at ", detail::hex(buf.data()));
  }
  constexpr Access needed = Access::local_read_write | Access::rdma_read | Access::rdma_write | Access::rdma_atomic;
  const Access access = buf.mmap()->permissions();
  if ((access & needed) != needed || buf.mmap()->is_from_export()) {
    refuse(Status::not_permitted, "set buf",
           "its map must be of this process's memory, with permissions "
           "local_read_write, rdma_read, rdma_write and rdma_atomic, and has ",
           detail::hex(static_cast<std::uint32_t>(access)));
  }
  if (own.word_.address != nullptr || own.buf_ != nullptr) {
    refuse(Status::invalid_value, "set buf", "the event's memory is set already");
  }
  detail::Operands::lend(&buf);
  own.buf_ = &buf;
}

void library::SyncEvent::require_locations(std::string_view what) const {
  if (imported_) {
    return;
  }
  if (publisher_ == SyncEventLocation::none || subscriber_ == SyncEventLocation::none) {
    refuse(Status::invalid_value, what, "add one publisher and one subscriber location first");
  }
  if (device_ == nullptr) {
    refuse(Status::invalid_value, what, "neither location is this CPU or its DPA; add one with its device");
  }
  const bool remote = publisher_ == SyncEventLocation::remote_pci || subscriber_ == SyncEventLocation::remote_pci;
  if (buf_ != nullptr && remote && !allows(buf_->mmap()->permissions(), Access::pci_read_write)) {
    refuse(Status::not_permitted, what, "with a remote_pci location, the map of its buf needs pci_read_write");
  }
}

void library::SyncEvent::open_counter(std::string_view what) {
  require_locations(what);
  if (imported_) {
    return;
  }
  needs_importers_ =
      publisher_ != SyncEventLocation::cpu && publisher_ != SyncEventLocation::dpa && !outlives_importers_;
  std::byte* const address =
      buf_ != nullptr ? reinterpret_cast<std::byte*>(buf_->data()) : reinterpret_cast<std::byte*>(word_.address);
  if (address == nullptr) {
    counter_ = device_->backend().create_counter(nullptr);
    return;
  }
  const backend::MemoryRange range{address, sizeof(std::uint64_t), find_memory(address, sizeof(std::uint64_t))};
  counter_ = device_->backend().create_counter(&range);
}

void SyncEvent::start() {
  library::SyncEvent& own = library::of(*this);
  constexpr std::string_view what = "start sync event";
  if (own.is_asynchronous()) {
    refuse(Status::bad_state, what, "it is a context (as_context); start that");
  }
  if (own.phase() != EventPhase::configuring) {
    refuse(Status::invalid_value, what, "it was started before; an event is started once, then closed");
  }
  own.open_counter(what);
  own.phase_.store(EventPhase::synchronous, std::memory_order_release);
  log_event("started on ", *own.device_);
}

void SyncEvent::stop() {
  library::SyncEvent& own = library::of(*this);
  constexpr std::string_view what = "stop sync event";
  if (own.is_asynchronous()) {
    refuse(Status::bad_state, what, "its context must be stopped instead");
  }
  if (!own.is_synchronous()) {
    refuse(Status::invalid_value, what,
           own.phase() == EventPhase::configuring ? "it was not started" : "it is stopped already");
  }
  if (own.counter_->withdraw() != Status::success) {
    refuse(Status::again, what, "a peer is still accessing it; its export is dead, stop again");
  }
  own.phase_.store(EventPhase::stopped, std::memory_order_release);
  log_event("stopped on ", *own.device_);
}

void SyncEvent::close() {
  library::SyncEvent& own = library::of(*this);
  if (own.phase() == EventPhase::closed) {
    return;
  }
  if (const std::shared_ptr<Context> context = own.context_.lock()) {
    context->close();
  }
  if (own.is_synchronous()) {
    stop();
  }
  own.release();
}

void library::SyncEvent::release() noexcept {
  phase_.store(Phase::closed, std::memory_order_release);
  if (imported_) {
    static_cast<void>(counter_->withdraw());  // it may never have been started
  }
  detail::Operands::take_back(std::exchange(buf_, nullptr));
  word_ = {};
  use_.reset();
}

void library::SyncEvent::require_exportable(std::string_view what) const {
  if (imported_) {
    refuse(Status::invalid_value, what, "it was imported; only its exporter can export it");
  }
  if (phase() != Phase::synchronous && phase() != Phase::asynchronous) {
    refuse(Status::invalid_value, what, "start it first");
  }
}

std::vector<std::byte> SyncEvent::export_to_remote_pci(const Device& device) {
  library::SyncEvent& own = library::of(*this);
  constexpr std::string_view what = "export sync event to remote PCI";
  own.require_exportable(what);
  if (own.publisher_ != SyncEventLocation::remote_pci && own.subscriber_ != SyncEventLocation::remote_pci) {
    refuse(Status::invalid_value, what, "neither location is remote_pci");
  }
  if (&device != own.device_.get()) {
    refuse(Status::invalid_value, what, "the event is on ", own.device_->info().name(), ", not on ",
           device.info().name());
  }
  if (!is_export_to_remote_pci_supported(device.info())) {
    refuse(Status::not_supported, what, device.info().name(), " cannot");
  }
  std::vector<std::byte> blob = own.counter_->export_to_remote_pci();
  log_event("exported to the other side of PCIe on ", device);
  return blob;
}

std::vector<std::byte> SyncEvent::export_to_remote_net() {
  library::SyncEvent& own = library::of(*this);
  constexpr std::string_view what = "export sync event to remote net";
  own.require_exportable(what);
  if (own.publisher_ != SyncEventLocation::remote_net) {
    refuse(Status::invalid_value, what, "its publisher is not remote_net");
  }
  if (!is_export_to_remote_net_supported(own.device_->info())) {
    refuse(Status::not_supported, what, own.device_->info().name(), " cannot");
  }
  std::vector<std::byte> blob = own.counter_->export_to_remote_net();
  log_event("exported to the network on ", *own.device_);
  return blob;
}

std::shared_ptr<SyncEventRemoteNet> SyncEventRemoteNet::create_from_export(std::shared_ptr<Device> device,
                                                                           std::span<const std::byte> blob) {
  return create_from_export(std::move(device), blob, nullptr);
}

std::shared_ptr<backend::ImportAnswer> SyncEventRemoteNet::ask_for_export(const std::shared_ptr<Device>& device,
                                                                          std::span<const std::byte> blob) {
  const DeviceUse use(device, DeviceUser::sync_event);
  require_import_from_net(*device);
  return device->backend().ask_for_counter(blob, backend::CounterScope::remote_net);
}

std::shared_ptr<SyncEventRemoteNet> SyncEventRemoteNet::create_from_export(
    std::shared_ptr<Device> device, std::span<const std::byte> blob,
    const std::shared_ptr<backend::ImportAnswer>& answer) {
  auto handle = std::make_shared<library::SyncEventRemoteNet>();
  handle->use_ = std::make_unique<DeviceUse>(device, DeviceUser::sync_event);
  require_import_from_net(*device);
  handle->counter_ = device->backend().import_counter(blob, backend::CounterScope::remote_net, answer);
  handle->device_ = std::move(device);
  return handle;
}

void SyncEventRemoteNet::close() noexcept {
  library::of(*this).counter_.reset();
  library::of(*this).use_.reset();
}

bool SyncEventRemoteNet::is_closed() const noexcept { return library::of(*this).counter_ == nullptr; }
const std::shared_ptr<Device>& SyncEventRemoteNet::device() const noexcept { return library::of(*this).device_; }

bool SyncEvent::is_started() const noexcept {
  return library::of(*this).phase_.load(std::memory_order_relaxed) == EventPhase::synchronous;
}
bool SyncEvent::is_closed() const noexcept { return library::of(*this).phase() == EventPhase::closed; }
bool SyncEvent::outlives_importers() const noexcept { return library::of(*this).outlives_importers_; }
bool SyncEvent::is_from_export() const noexcept { return library::of(*this).imported_; }
SyncEventLocation SyncEvent::publisher() const noexcept { return library::of(*this).publisher_; }
SyncEventLocation SyncEvent::subscriber() const noexcept { return library::of(*this).subscriber_; }
std::shared_ptr<Device> SyncEvent::device() const noexcept { return library::of(*this).device_; }

}  // namespace pydoca

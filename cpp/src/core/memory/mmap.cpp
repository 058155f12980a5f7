#include "pydoca/mmap.hpp"

#include "pydoca/backend/device.hpp"
#include "pydoca/backend/memory.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/log.hpp"

#include "detail/concat.hpp"
#include "detail/never_destroyed.hpp"

#include <algorithm>
#include <fcntl.h>
#include <limits>
#include <mutex>

namespace pydoca {

namespace {

/// Keeps memory that a peer may still write to, for the rest of the process's life: giving it to a new owner is worse.
void quarantine(std::shared_ptr<const void>&& memory) noexcept {
  try {
    static auto* const kept = new std::vector<std::shared_ptr<const void>>;  // where leak checkers find it
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    kept->push_back(std::move(memory));
  } catch (...) {  // out of memory
    const detail::NeverDestroyed unlisted(std::move(memory));
  }
}

}  // namespace

Mmap::Mmap() = default;

std::shared_ptr<Mmap> Mmap::create() {
  return {new Mmap, [](Mmap* mmap) {
            if (mmap->let_go_of(program)) {
              delete mmap;
            }
          }};
}

std::shared_ptr<backend::ImportAnswer> Mmap::ask_for_export(const std::shared_ptr<Device>& device,
                                                            std::span<const std::byte> blob) {
  return DeviceUse(device, DeviceUser::memory_map)->backend().ask_for_memory(blob);
}

std::shared_ptr<Mmap> Mmap::create_from_export(std::shared_ptr<Device> device, std::span<const std::byte> blob,
                                               std::uint64_t user_data) {
  return create_from_export(std::move(device), blob, nullptr, user_data);
}

std::shared_ptr<Mmap> Mmap::create_from_export(std::shared_ptr<Device> device, std::span<const std::byte> blob,
                                               const std::shared_ptr<backend::ImportAnswer>& answer,
                                               std::uint64_t user_data) {
  DeviceUse use(std::move(device), DeviceUser::memory_map);
  backend::ImportedRegion imported = use->backend().import_memory(blob, answer);
  auto mmap = create();
  mmap->devices_.push_back(std::move(use));
  Device& importer = *mmap->devices_.front();
  mmap->regions_.push_back(std::move(imported.region));
  mmap->regions_by_ordinal_[importer.ordinal()] = mmap->regions_.front().get();
  mmap->addr_ = imported.addr;
  mmap->len_ = imported.len;
  mmap->access_ = imported.access;
  mmap->user_data_ = user_data;
  mmap->open_len_ = imported.len;
  mmap->imported_ = true;
  mmap->log("imported for ", importer);
  return mmap;
}

Mmap::~Mmap() {
  try {
    close();
  } catch (const std::exception& error) {  // a peer is inside; or there was no memory to say so
    log::engine(log::Level::warning, "mmap", error.what());
    quarantine(std::move(owner_));
  }
}

void Mmap::close() {
  if (closed_) {
    return;
  }
  if (num_bufs() != 0) {
    if (!thread_safe_) {
      require_no_bufs("close mmap");
    }
    open_len_ = 0;
    closing_ = true;
    return;
  }
  unregister();
  closed_ = closing_ = true;
  devices_.clear();
  const std::shared_ptr<const void> owner = std::move(owner_);
  const FreeCallback callback = std::exchange(free_callback_, nullptr);
  if (callback_due_ && callback != nullptr) {
    callback({reinterpret_cast<std::byte*>(addr_), len_}, free_user_data_);  // may drop this map
  }
}

std::string Mmap::describe() const {
  if (len_ == 0) {
    return "mmap without a range";
  }
  return detail::concat(imported_ ? "imported mmap of " : "mmap of ", len_, " bytes at ", detail::hex(addr_));
}

void Mmap::refuse(Status status, std::string_view what, std::string_view why) const {
  throw Error(status, detail::concat(what, " (", describe(), "): ", why));
}

void Mmap::log(std::string_view what, const Device& device) const noexcept {
  log::engine(log::Level::debug, "mmap", [&] { return detail::concat(describe(), ": ", what, device.info().name()); });
}

void Mmap::require_configurable(std::string_view what, Status while_started) const {
  if (imported_) {
    refuse(Status::not_permitted, what, "it was made from an export, and its exporter configured it");
  }
  if (closing_) {
    refuse(Status::bad_state, what, "it is closed; make another");
  }
  if (is_started()) {
    refuse(while_started, what, "it is started; stop it first");
  }
}

void Mmap::require_no_bufs(std::string_view what) const {
  if (num_bufs() != 0) {
    refuse(Status::not_permitted, what,
           detail::concat(num_bufs(), " buf(s) still point into the map; release them first"));
  }
}

void Mmap::add_device(std::shared_ptr<Device> device) {
  require_configurable("add device", Status::not_permitted);
  DeviceUse use(std::move(device), DeviceUser::memory_map);
  if (std::ranges::any_of(devices_, [&](const DeviceUse& other) { return &*other == &*use; })) {
    refuse(Status::already_exist, detail::concat("add device ", use->info().name()), "the map has it");
  }
  if (devices_.size() >= max_num_devices_) {
    refuse(Status::no_memory, detail::concat("add device ", use->info().name()),
           detail::concat("it has ", devices_.size(), devices_.size() == 1 ? " device" : " devices",
                          ", as many as max_num_devices lets it have; set that to more before the first start"));
  }
  devices_.push_back(std::move(use));
}

void Mmap::remove_device(const Device& device) {
  require_configurable("remove device", Status::not_permitted);
  const auto found = std::ranges::find_if(devices_, [&](const DeviceUse& use) { return &*use == &device; });
  if (found == devices_.end()) {
    refuse(Status::not_found, detail::concat("remove device ", device.info().name()), "the map does not have it");
  }
  std::vector<DeviceUse> kept;
  for (DeviceUse& use : devices_) {
    if (&*use != &device) {
      kept.push_back(std::move(use));
    }
  }
  devices_.swap(kept);
}

void Mmap::require_new_range(std::string_view what, const void* addr, std::size_t len) const {
  require_configurable(what);
  if (len_ != 0) {
    refuse(Status::not_permitted, what, "a map keeps its range for life; make another map");
  }
  const auto start = reinterpret_cast<std::uint64_t>(addr);
  if (addr == nullptr || len == 0 || len > std::numeric_limits<std::uint64_t>::max() - start) {
    const std::string_view why = len == 0          ? "the range has 0 bytes; give 1 or more"
                                 : addr == nullptr ? "the address is 0"
                                                   : "address and length together exceed 2^64";
    throw Error(Status::invalid_value, detail::concat(what, " to ", len, " bytes at ", detail::hex(start), ": ", why));
  }
}

void Mmap::set_memrange(void* addr, std::size_t len, std::shared_ptr<const void> owner) {
  require_new_range("set memrange", addr, len);
  addr_ = reinterpret_cast<std::uint64_t>(addr);
  len_ = len;
  owner_ = std::move(owner);
}

void Mmap::set_read_only_memrange(const void* addr, std::size_t len, std::shared_ptr<const void> owner) {
  constexpr const char* what = "set read-only memrange";
  require_new_range(what, addr, len);
  if (access_chosen_) {
    require_no_writing(what, access_);
  } else {
    access_ = Access::local_read_only;
  }
  set_memrange(const_cast<void*>(addr), len, std::move(owner));
  read_only_ = true;
}

void Mmap::require_no_writing(std::string_view what, Access access) const {
  if (allows_writing(access)) {
    refuse(Status::invalid_value, what,
           "the memory is read-only, and the permissions include writing; take of local_read_only, pci_read_only and "
           "rdma_read what is needed");
  }
}

void Mmap::set_dmabuf_memrange(int dmabuf_fd, void* addr, std::size_t offset, std::size_t len) {
  require_new_range("set dmabuf memrange", addr, len);
  if (::fcntl(dmabuf_fd, F_GETFD) < 0) {
    throw Error(Status::invalid_value,
                detail::concat("set dmabuf memrange: ", dmabuf_fd, " is not an open descriptor"));
  }
  throw Error(
      Status::not_supported,
      detail::concat("set dmabuf memrange: ", len, " bytes at ", offset, " of descriptor ", dmabuf_fd,
                     ": no device takes memory of another driver (capability mmap_dmabuf); copy it to a buffer of "
                     "this process"));
}

void Mmap::set_permissions(Access access) {
  require_configurable("set permissions");
  const auto mask = static_cast<std::uint32_t>(access);
  if ((mask & ~access_mask) != 0) {
    refuse(Status::invalid_value, "set permissions", detail::concat("undefined bits in ", detail::hex(mask)));
  }
  if (allows(access, Access::pci_read_only) && allows(access, Access::pci_read_write)) {
    refuse(Status::invalid_value, "set permissions", "pci_read_only and pci_read_write exclude each other");
  }
  if (read_only_) {
    require_no_writing("set permissions", access);
  }
  access_ = access;
  access_chosen_ = true;
}

void Mmap::set_free_callback(FreeCallback callback, std::uint64_t user_data) {
  require_configurable("set free callback");
  free_callback_ = callback;
  free_user_data_ = user_data;
  callback_due_ = false;
}

void Mmap::set_user_data(std::uint64_t data) {
  require_configurable("set user data");
  user_data_ = data;
}

void Mmap::set_max_num_devices(std::uint32_t count) {
  require_configurable("set max num devices", Status::not_permitted);
  if (ever_started_) {
    refuse(Status::not_permitted, "set max num devices", "only before the first start");
  }
  if (count == 0 || count > max_open_devices || count < devices_.size()) {
    refuse(Status::invalid_value, "set max num devices",
           count < devices_.size() ? detail::concat(count, " is less than the ", devices_.size(), " devices it has")
                                   : detail::concat(count, " is not in 1..", max_open_devices));
  }
  max_num_devices_ = count;
}

void Mmap::enable_thread_safety() {
  require_configurable("enable thread safety", Status::not_permitted);
  require_no_bufs("enable thread safety");
  thread_safe_ = true;
}

void Mmap::start() {
  require_configurable("start mmap", Status::not_permitted);
  if (len_ == 0 || devices_.empty()) {
    refuse(Status::invalid_value, "start mmap", len_ == 0 ? "set a range first (set_memrange)" : "add a device first");
  }
  const backend::MemoryRange range{reinterpret_cast<std::byte*>(addr_), len_,
                                   find_memory(reinterpret_cast<void*>(addr_), len_)};
  std::vector<std::unique_ptr<backend::MemoryRegion>> regions;
  for (const DeviceUse& device : devices_) {
    regions.push_back(device->backend().register_memory(range, access_));
  }
  regions_ = std::move(regions);
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    regions_by_ordinal_[devices_[i]->ordinal()] = regions_[i].get();
  }
  open_len_ = len_;
  ever_started_ = callback_due_ = true;
  log("started on ", *devices_.front());
}

void Mmap::stop() {
  if (!is_started()) {
    return;
  }
  require_no_bufs("stop mmap");
  unregister();
}

void Mmap::unregister() {
  withdraw_regions();
  if (!regions_.empty()) {
    log("stopped on ", *devices_.front());
  }
  regions_by_ordinal_.fill(nullptr);
  regions_.clear();
  open_len_ = 0;
  exported_ = false;
}

void Mmap::withdraw_regions() {
  bool busy = false;
  for (const auto& region : regions_) {
    busy |= region->withdraw() != Status::success;
  }
  if (busy) {
    refuse(Status::again, "stop mmap", "a peer is still accessing the memory; its export is dead, stop again");
  }
}

backend::MemoryRegion& Mmap::region_for_export(const Device& device) const {
  if (imported_ || !is_started()) {
    refuse(Status::not_permitted, "export mmap",
           imported_  ? "it was made from an export; only its exporter can export it"
           : closing_ ? "it is closed; make another"
                      : "it is not started; start it first");
  }
  backend::MemoryRegion* const region = regions_by_ordinal_[device.ordinal()];
  const bool added = std::ranges::any_of(devices_, [&](const DeviceUse& use) { return &*use == &device; });
  if (!added || region == nullptr) {
    refuse(Status::not_found, "export mmap",
           detail::concat("device ", device.info().name(), " was not added to it; add it before the start"));
  }
  return *region;
}

std::uint32_t Mmap::mkey(const Device& device) const {
  const bool added = std::ranges::any_of(devices_, [&](const DeviceUse& use) { return &*use == &device; });
  const backend::MemoryRegion* const region = added ? regions_by_ordinal_[device.ordinal()] : nullptr;
  if (region == nullptr) {
    refuse(Status::not_found, "key of a memory map",
           detail::concat(is_started() ? "it has no device " : "it is not started with device ", device.info().name()));
  }
  return region->mkey();
}

std::vector<std::shared_ptr<Device>> Mmap::devices() const {
  std::vector<std::shared_ptr<Device>> list;
  for (const DeviceUse& use : devices_) {
    list.push_back(use.shared());
  }
  return list;
}

std::vector<std::byte> Mmap::export_pci(const Device& device) {
  const Access flag = access_ & (Access::pci_read_only | Access::pci_read_write);
  if (!imported_ && is_started() && flag == Access{}) {
    refuse(Status::not_permitted, "export mmap",
           "its access has neither pci_read_only nor pci_read_write; set one before the start");
  }
  backend::MemoryRegion& region = region_for_export(device);
  if (!device.info().capabilities().mmap_export_pci) {
    refuse(Status::not_supported, "export mmap",
           detail::concat(device.info().name(), " cannot export over PCIe; use a function on the host"));
  }
  std::vector<std::byte> blob = region.export_pci(flag);
  exported_ = true;
  log("exported over PCIe on ", device);
  return blob;
}

std::vector<std::byte> Mmap::export_rdma(const Device& device) {
  const Access flags = access_ & (Access::rdma_read | Access::rdma_write | Access::rdma_atomic);
  if (!imported_ && is_started() && flags == Access{}) {
    refuse(Status::not_permitted, "export mmap",
           "its access has none of rdma_read, rdma_write and rdma_atomic; set one before the start");
  }
  backend::MemoryRegion& region = region_for_export(device);
  if (!device.info().capabilities().mmap_export_rdma) {
    refuse(Status::not_supported, "export mmap", detail::concat(device.info().name(), " cannot export over RDMA"));
  }
  std::vector<std::byte> blob = region.export_rdma(flags);
  exported_ = true;
  log("exported over RDMA on ", device);
  return blob;
}

}  // namespace pydoca

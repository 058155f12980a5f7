#include "pydoca/device.hpp"

#include "pydoca/backend/device.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/log.hpp"
#include "pydoca/representor.hpp"

#include "core/device/visible_backends.hpp"
#include "detail/concat.hpp"
#include "detail/thread/per_process.hpp"
#include "detail/trace/recorder.hpp"

#include <array>
#include <bitset>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace pydoca {

namespace {

/// Indexed by DeviceUser.
constexpr std::array<std::string_view, 7> user_names{
    "memory map", "context", "sync event", "representor", "clock", "DPA", "adopted protection domain"};

/// What is open in this process; a forked child begins anew, with what it inherited left alone. Never destroyed:
/// devices may outlive static destructors.
struct OpenDevices {
  struct Entry {
    std::weak_ptr<Device> device;
    Device* identity;  // tells an entry's own device from a later one, when the weak pointer has expired
    std::size_t hash;  // hashes its function; most others need no look at the device
    bool adopted;      // lookups do not find it
  };

  std::mutex mutex;
  std::vector<Entry> entries;
  std::bitset<max_open_devices> ordinals;

  /// Ordinals of inherited devices stay taken: memory maps that are inherited too know them.
  explicit OpenDevices(const OpenDevices* parents) {
    if (parents != nullptr) {
      ordinals = parents->ordinals;
    }
  }

  static OpenDevices& instance() { return detail::PerProcess<OpenDevices>::instance(); }

  static std::size_t hash_of(const DeviceInfo& info) noexcept { return std::hash<std::string_view>()(info.name()); }

  /// held keeps what was looked at until the caller has unlocked: the last reference's destructor locks.
  std::shared_ptr<Device> find(const DeviceInfo& info, std::vector<std::shared_ptr<Device>>& held) const {
    const std::size_t hash = hash_of(info);
    for (const Entry& entry : entries) {
      if (entry.adopted || entry.hash != hash) {
        continue;
      }
      const auto& device = held.emplace_back(entry.device.lock());
      if (device != nullptr && &device->info().backend() == &info.backend() && device->info().name() == info.name() &&
          device->info().properties().side == info.properties().side && !device->removed() && !device->replaced()) {
        return device;
      }
    }
    return nullptr;
  }

  /// Throws initialization when there is none.
  std::size_t free_ordinal(std::string_view name) const {
    std::size_t ordinal = 0;
    while (ordinal < ordinals.size() && ordinals.test(ordinal)) {
      ++ordinal;
    }
    if (ordinal == max_open_devices) {
      throw Error(Status::initialization, detail::concat("open ", name, ": ", max_open_devices,
                                                         " devices are open, and that is the limit; close one"));
    }
    return ordinal;
  }

  /// entries has room for it.
  std::shared_ptr<Device> add(std::unique_ptr<Device>&& fresh, bool adopted) {
    std::shared_ptr<Device> device(std::move(fresh));  // fresh keeps it if that fails
    entries.push_back({device, device.get(), hash_of(device->info()), adopted});
    ordinals.set(device->ordinal());
    return device;
  }

  void forget(const Device& device) {
    if (std::erase_if(entries, [&](const Entry& entry) { return entry.identity == &device; }) != 0) {
      ordinals.reset(device.ordinal());
    }
  }
};

}  // namespace

std::vector<DeviceInfo> open_devices() {
  std::vector<std::shared_ptr<Device>> held;
  std::vector<DeviceInfo> infos;
  OpenDevices& open_devices = OpenDevices::instance();
  const std::lock_guard lock(open_devices.mutex);
  for (const OpenDevices::Entry& entry : open_devices.entries) {
    const auto& device = held.emplace_back(entry.adopted ? nullptr : entry.device.lock());
    if (device != nullptr) {
      infos.push_back(device->info());
    }
  }
  return infos;
}

Device::Device(DeviceInfo info, std::unique_ptr<backend::Device> device, std::size_t ordinal) noexcept
    : info_(std::move(info)),
      backend_(std::move(device)),
      ordinal_(ordinal),
      fault_plan_(backend::fault_plan_of(info_.properties())) {}

std::uint32_t Device::add_trace_name() const noexcept {
  return detail::trace::add_device_name(info_.name(), info_.properties().side);
}

namespace {

/// The registry is not locked here: sinks may be the application's code.
void log_device(const DeviceInfo& info, std::string_view what) noexcept {
  log::engine(log::Level::debug, "dev", [&] { return detail::concat(info.name(), " ", what); });
}

}  // namespace

std::shared_ptr<Device> Device::open(const DeviceInfo& info) {
  std::shared_ptr<Device> device = share(info);
  log_device(info, device->open_count_.load(std::memory_order_relaxed) == 1 ? "opened" : "opened once more");
  return device;
}

std::shared_ptr<Device> Device::share(const DeviceInfo& info) {
  OpenDevices& open_devices = OpenDevices::instance();
  std::vector<std::shared_ptr<Device>> held;
  std::unique_ptr<Device> fresh;  // outlives the lock, which its destructor takes
  const std::lock_guard lock(open_devices.mutex);
  if (auto device = open_devices.find(info, held)) {
    device->open_count_.fetch_add(1, std::memory_order_relaxed);
    return device;
  }
  const std::size_t ordinal = open_devices.free_ordinal(info.name());
  open_devices.entries.reserve(open_devices.entries.size() + 1);
  fresh.reset(new Device(
      info, backend::with_faults(info.backend().open(info.properties(), ordinal), info.properties(), ordinal),
      ordinal));
  return open_devices.add(std::move(fresh), false);
}

namespace {

bool has_domain(const backend::Device& device, const void* protection_domain) noexcept {
  try {
    return device.protection_domain() == protection_domain;
  } catch (const Error&) {
    return false;  // it has none
  }
}

}  // namespace

/// The open device that has that domain, or null.
std::shared_ptr<Device> Device::owner_of(const void* protection_domain) {
  std::vector<std::shared_ptr<Device>> held;
  const std::lock_guard lock(OpenDevices::instance().mutex);
  for (const OpenDevices::Entry& entry : OpenDevices::instance().entries) {
    const auto& device = held.emplace_back(entry.adopted ? nullptr : entry.device.lock());
    if (device != nullptr && has_domain(*device->backend_, protection_domain)) {
      return device;
    }
  }
  return nullptr;
}

std::shared_ptr<Device> Device::adopt(void* protection_domain) {
  const std::shared_ptr<Device> owner = owner_of(protection_domain);
  auto domain_owner = owner != nullptr ? std::make_unique<DeviceUse>(owner, DeviceUser::protection_domain) : nullptr;
  OpenDevices& open_devices = OpenDevices::instance();
  std::unique_ptr<Device> fresh;  // outlives the lock, which its destructor takes
  const std::lock_guard lock(open_devices.mutex);
  const std::size_t ordinal = open_devices.free_ordinal("a device of a protection domain");
  open_devices.entries.reserve(open_devices.entries.size() + 1);
  for (backend::Backend* const backend : backend::backends()) {
    try {
      backend::AdoptedDevice adopted = backend->adopt(protection_domain, ordinal);
      auto device_of_plan = backend::with_faults(std::move(adopted.device), adopted.properties, ordinal);
      fresh.reset(new Device(DeviceInfo(*backend, std::move(adopted.properties)), std::move(device_of_plan), ordinal));
      std::shared_ptr<Device> device = open_devices.add(std::move(fresh), true);
      device->domain_owner_ = std::move(domain_owner);
      return device;
    } catch (const Error& error) {
      if (error.status() != Status::not_supported) {
        throw;
      }
    }
  }
  throw Error(
      Status::not_supported,
      detail::concat("open a device from a protection domain: rdma-core is not used here", detail::absent_note()));
}

bool Device::removed() const noexcept { return backend_ != nullptr && backend_->removed(); }

bool Device::replaced() const noexcept {
  return backend_ != nullptr && (backend_->replaced() || fault_plan_ != backend::fault_plan_of(info_.properties()));
}

Device::~Device() {
  OpenDevices& open_devices = OpenDevices::instance();
  const std::lock_guard lock(open_devices.mutex);
  open_devices.forget(*this);
}

void Device::close() { log_device(info_, give_back() ? "closed" : "closed once of several openings"); }

bool Device::give_back() {
  std::unique_ptr<DeviceUse> domain_owner;  // outlives the lock, which giving it back takes
  OpenDevices& open_devices = OpenDevices::instance();
  const std::lock_guard lock(open_devices.mutex);
  if (!is_open()) {
    throw Error(Status::bad_state, detail::concat("close ", info_.name(), ": it is closed already"));
  }
  if (open_count_ == 1 && num_users() != 0) {
    throw Error(Status::in_use,
                detail::concat("close ", info_.name(), ": in use by ", describe_users(), "; close them first"));
  }
  if (--open_count_ != 0) {
    return false;
  }
  open_devices.forget(*this);
  backend_.reset();
  domain_owner = std::move(domain_owner_);
  return true;
}

std::size_t Device::num_users() const noexcept {
  std::size_t sum = 0;
  for (const std::atomic<std::size_t>& count : users_) {
    sum += count.load(std::memory_order_relaxed);
  }
  return sum;
}

std::string Device::describe_users() const {
  std::vector<std::string> parts;
  for (std::size_t user = 0; user < users_.size(); ++user) {
    if (const std::size_t count = users_.at(user); count != 0) {
      parts.push_back(detail::concat(count, " ", user_names.at(user), count == 1 ? "" : "s"));
    }
  }
  std::string text = parts.empty() ? "" : parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    text += (i + 1 < parts.size() ? ", " : " and ") + parts[i];
  }
  return text;
}

void Device::accelerate_resource_reclaim() const {
  if (!is_open()) {
    throw Error(Status::bad_state,
                detail::concat("accelerate resource reclaim of ", info_.name(), ": it is closed; open it first"));
  }
  if (!info_.capabilities().accelerate_resource_reclaim) {
    throw Error(Status::not_supported,
                detail::concat("accelerate resource reclaim of ", info_.name(),
                               ": it keeps no resources that are costly to make again (capability "
                               "accelerate_resource_reclaim)"));
  }
  backend_->accelerate_resource_reclaim();
}

void Device::require_open(std::string_view what) const {
  if (!is_open()) {
    throw Error(Status::bad_state, detail::concat(what, " of ", info_.name(), ": it is closed"));
  }
}

std::vector<RepresentorProperties> Device::representors(RepFilter filter) const {
  require_open("list representors");
  return backend_->representors(filter);
}

Device::Use::Use(std::shared_ptr<Device> device, DeviceUser user) : device_(std::move(device)), user_(user) {
  if (device_ == nullptr) {
    throw Error(Status::invalid_value, "a device is needed, and none was given");
  }
  const std::lock_guard lock(OpenDevices::instance().mutex);
  if (!device_->is_open()) {
    throw Error(Status::bad_state, detail::concat("device ", device_->info().name(), " is closed; open it again"));
  }
  device_->users_.at(static_cast<std::size_t>(user)).fetch_add(1, std::memory_order_relaxed);
}

Device::Use::~Use() { release(); }

void Device::Use::release() noexcept {
  if (device_ != nullptr && !std::exchange(released_, true)) {
    // release, so that a thread that sees the count fall also sees what the user did to the device
    device_->users_.at(static_cast<std::size_t>(user_)).fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace pydoca

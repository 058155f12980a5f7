#pragma once

#include "pydoca/device.hpp"
#include "pydoca/types.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace pydoca::backend {
class MemoryRegion;
}

namespace pydoca {

/// A range of memory that devices may reach (DOCA Core: doca_mmap). Configured while stopped: one range for life, at
/// least one device, permissions; then start, stop, and start again. An imported one is started from birth, keeps the
/// exporter's addresses, and refuses configuration with not_permitted. Not thread-safe, but for num_bufs().
class Mmap : public std::enable_shared_from_this<Mmap> {
 public:
  using FreeCallback = std::function<void(void* addr, std::size_t len)>;
  static constexpr std::uint32_t default_max_num_devices = 8;

  static std::shared_ptr<Mmap> create();
  /// A map of the memory that blob, made by export_pci() on the other side or export_rdma() anywhere on the network,
  /// describes. Throws invalid_value and unsupported_version for a bad blob, not_permitted (the wrong device or side),
  /// not_connected (the exporter is gone), time_out (it does not answer), again (a signal ended the wait for it:
  /// nothing is imported), bad_state (the export was withdrawn), not_supported (device without the capability).
  static std::shared_ptr<Mmap> create_from_export(std::shared_ptr<Device> device, std::span<const std::byte> blob,
                                                  std::uint64_t user_data = 0);

  ~Mmap();
  Mmap(const Mmap&) = delete;
  Mmap& operator=(const Mmap&) = delete;

  /// Stops and releases everything, then runs the free callback if the map was ever started. Idempotent. Throws
  /// not_permitted while bufs live, again as stop() does.
  void close();

  // Configuration. bad_state while started unless said otherwise, invalid_value for nonsense.
  /// Throws already_exist, no_memory above max_num_devices, not_permitted on an imported map.
  void add_device(std::shared_ptr<Device> device);
  void remove_device(const Device& device);  ///< not_found
  /// Once for life (not_permitted). owner is held until the map goes and, with quarantined memory, longer.
  void set_memrange(void* addr, std::size_t len, std::shared_ptr<const void> owner = nullptr);
  void set_permissions(Access access);  ///< default local_read_write
  void set_free_callback(FreeCallback callback);
  void set_user_data(std::uint64_t data);
  void set_max_num_devices(std::uint32_t count);  ///< not_permitted after the first start

  /// Registers the range on every device. Throws invalid_value without range or device, bad_state when started, again
  /// when a signal ended it.
  void start();
  /// Withdraws exports and waits for peers' accesses. Throws not_permitted while bufs live, again while a peer's access
  /// has not ended, in time or before a signal (its export is dead all the same). Stopping a stopped map does nothing.
  void stop();

  /// Describes the range for the other side of device's PCIe link; < 512 bytes. Throws not_permitted (not started, no
  /// PCI permission, imported), not_found (device not added), not_supported.
  std::vector<std::byte> export_pci(const Device& device);
  /// The same for peers on device's network. They may then read, write or change it as the map's RDMA permissions say,
  /// over a connection to an Rdma context that permits it, too. Throws not_permitted without RDMA permission.
  std::vector<std::byte> export_rdma(const Device& device);

  /// The memory key on device (rdma_bridge.hpp). Throws not_found unless started with it, not_supported off rdma-core.
  std::uint32_t mkey(const Device& device) const;
  std::vector<std::shared_ptr<Device>> devices() const;

  bool is_started() const noexcept { return started_; }
  bool is_exported() const noexcept { return exported_; }
  bool is_from_export() const noexcept { return imported_; }
  std::uint64_t addr() const noexcept { return addr_; }  ///< in the owner's address space; 0 without a range
  std::size_t len() const noexcept { return len_; }      ///< bytes; 0 without a range
  Access permissions() const noexcept { return access_; }
  std::uint64_t user_data() const noexcept { return user_data_; }
  std::uint32_t max_num_devices() const noexcept { return max_num_devices_; }
  std::size_t num_devices() const noexcept { return devices_.size(); }
  std::uint32_t num_bufs() const noexcept { return num_bufs_.load(std::memory_order_relaxed); }

  /// Whether [addr, addr + len) lies in the range; never overflows.
  bool contains(std::uint64_t addr, std::uint64_t len) const noexcept {
    return addr >= addr_ && len <= len_ && addr - addr_ <= len_ - len;
  }

 private:
  friend class BufInventory;
  friend class Buf;

  Mmap();
  void require_configurable(const char* what) const;
  void withdraw_regions();
  /// The region of an exportable map on device.
  backend::MemoryRegion& region_for_export(const Device& device) const;
  void require_no_bufs(const char* what) const;

  std::vector<DeviceUse> devices_;
  std::array<backend::MemoryRegion*, max_open_devices> regions_by_ordinal_{};
  std::vector<std::unique_ptr<backend::MemoryRegion>> regions_;  ///< parallel to devices_ while started
  std::shared_ptr<const void> owner_;
  FreeCallback free_callback_;
  std::uint64_t addr_ = 0;
  std::size_t len_ = 0;
  Access access_ = Access::local_read_write;
  std::uint64_t user_data_ = 0;
  std::uint32_t max_num_devices_ = default_max_num_devices;
  std::atomic<std::uint32_t> num_bufs_{0};
  bool started_ = false;
  bool ever_started_ = false;
  bool exported_ = false;
  bool imported_ = false;
  bool closed_ = false;
};

}  // namespace pydoca

#pragma once

#include "pydoca/callback.hpp"
#include "pydoca/device.hpp"
#include "pydoca/types.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::backend {
class ImportAnswer;
class MemoryRegion;
}  // namespace pydoca::backend

#pragma GCC visibility push(default)

namespace pydoca {

/// A range of memory that devices may reach (DOCA Core Programming Guide, memory map: doca_mmap).
///
/// | state | the caller may | it ends |
/// |---|---|---|
/// | stopped | configure, start, close | by start() or close() |
/// | started | get bufs, export, stop | by stop() or close() |
/// | closed | ask for what was configured | |
///
/// A map gets one range for life, and needs that and at least one device to start. An imported map is started from
/// birth, keeps the exporter's addresses, refuses configuration with not_permitted, and cannot start again once
/// stopped.
///
/// Ownership: the map holds the owner of its range and uses its devices until it is closed; bufs hold the map. The
/// range must stay mapped while the map is started: give an owner, or keep it. The map does not allocate, copy or
/// change the memory. A map that the program lets go of ends when its last buf is back, in the thread that gives it
/// back; shared_ptr do not tell of that: a weak_ptr has expired before.
///
/// Thread safety: one thread at a time, and that includes getting and giving back its bufs; num_bufs() may be called
/// from any. After enable_thread_safety(), bufs may be got and given back by several threads, each with an inventory or
/// pool of its own.
// Aligned, as each buf that is got or given back writes to its map: maps of two threads share no cache line.
class alignas(64) Mmap {
 public:
  /// Called by close() or the destructor, in their thread, where the map was started since the callback was set.
  /// memory: the range.
  using FreeCallback = Callback<void(std::span<std::byte> memory, std::uint64_t user_data)>;
  static constexpr std::uint32_t default_max_num_devices = 8;

  /// A stopped map without range and devices, with the permissions local_read_write (doca_mmap_create).
  static std::shared_ptr<Mmap> create();
  /// A map of the memory that blob describes, for tasks of device (doca_mmap_create_from_export). blob comes from
  /// export_pci() on the other side of device's PCIe link, or from export_rdma() of a network peer; it is not needed
  /// afterwards. The simulator asks the exporting process, and so waits for it.
  ///
  /// Throws invalid_value (device is null, or blob is damaged, of something else than memory, or of no export of its
  /// process), unsupported_version (blob of another version of pydoca), bad_state (device is closed), not_permitted
  /// (exported to another device, fabric or user), not_supported (device cannot import such an export), not_connected
  /// (the export was withdrawn, or the exporter is gone or on another machine), time_out (it does not answer), again
  /// (an interrupt ended the wait; nothing is imported), in_use (memory that pydoca did not allocate, which this system
  /// grants to one process at a time), no_memory, operating_system (out of descriptors), driver (device was removed).
  static std::shared_ptr<Mmap> create_from_export(std::shared_ptr<Device> device, std::span<const std::byte> blob,
                                                  std::uint64_t user_data = 0);

  // Import<Mmap> (import.hpp), which does not wait, uses these.
  /// The question to the exporting process; null where none is asked. Throws as create_from_export() does.
  static std::shared_ptr<backend::ImportAnswer> ask_for_export(const std::shared_ptr<Device>& device,
                                                               std::span<const std::byte> blob);
  /// Imports with that answer, once it is complete.
  static std::shared_ptr<Mmap> create_from_export(std::shared_ptr<Device> device, std::span<const std::byte> blob,
                                                  const std::shared_ptr<backend::ImportAnswer>& answer,
                                                  std::uint64_t user_data = 0);

  ~Mmap();
  Mmap(const Mmap&) = delete;
  Mmap& operator=(const Mmap&) = delete;

  /// Stops the map and gives back its devices, then runs the free callback, then lets go of the owner
  /// (doca_mmap_destroy). Idempotent. Throws as stop() does, and the map is then as it was; the destructor logs that
  /// instead, and keeps the owner for the rest of the process's life. Nothing more can be got or exported from a map
  /// with thread safety whose bufs are out; the rest is done by close() or the destructor when the bufs are back, and
  /// the range must stay mapped until then.
  void close();

  // Configuration, while stopped. While started, the devices and their number throw not_permitted, the others
  // bad_state. Each throws bad_state once closed, not_permitted on an imported map; what else it throws is said there.
  /// Adds a device, whose tasks may then use the range, and uses it. Throws invalid_value for null, bad_state when the
  /// device is closed, already_exist when the map has it, no_memory when the map has max_num_devices().
  void add_device(std::shared_ptr<Device> device);
  /// Removes a device and gives it back. Throws not_found when the map does not have it.
  void remove_device(const Device& device);
  /// The range [addr, addr + len), len in bytes. owner is held until the map is closed and, if a peer may still write
  /// to the memory then, longer. Throws not_permitted when the map has a range, invalid_value for a null addr, for len
  /// 0 and for a range that wraps.
  void set_memrange(void* addr, std::size_t len, std::shared_ptr<const void> owner = nullptr);
  /// The same for memory that nobody may write: the permissions become local_read_only unless they were set. Throws
  /// invalid_value also when the permissions that were set allow writing.
  void set_read_only_memrange(const void* addr, std::size_t len, std::shared_ptr<const void> owner = nullptr);
  /// What devices and peers may do from the next start on; local_read_write by default. Throws invalid_value for
  /// undefined bits, for pci_read_only together with pci_read_write, and for writing to a read-only range.
  void set_permissions(Access access);
  /// Memory of another driver, such as a GPU's, by a descriptor of DMA-BUF: len bytes at offset, to which the range's
  /// addresses from addr on refer (doca_mmap_set_dmabuf_memrange). No device of this version takes it, as the
  /// capability mmap_dmabuf says: throws not_supported, or else as set_memrange() does, and invalid_value for a
  /// descriptor that is not open.
  static bool is_dmabuf_supported(const DeviceInfo&) noexcept { return false; }
  void set_dmabuf_memrange(int dmabuf_fd, void* addr, std::size_t offset, std::size_t len);
  /// user_data is for the callback. Null: none.
  void set_free_callback(FreeCallback callback, std::uint64_t user_data = 0);
  void set_user_data(std::uint64_t data);
  /// Sets the number, 1..max_open_devices and not below num_devices() (invalid_value); default_max_num_devices by
  /// default. Throws not_permitted after the first start.
  void set_max_num_devices(std::uint32_t count);
  /// Bufs may from now on be got by several threads, and do not keep the map from being closed
  /// (doca_mmap_enable_thread_safety). They still keep it from being stopped. Throws not_permitted while started or
  /// bufs are out.
  void enable_thread_safety();

  /// Registers the range on every device, which faults its pages in (doca_mmap_start). All or nothing. Throws
  /// invalid_value without a range or a device and for memory that is not mapped, not_permitted on an imported map,
  /// for memory that is read-only although the permissions allow writing (rdma-core: invalid_value) and
  /// when started, bad_state when closed, no_memory when pages or the limit of locked memory do not suffice, again when
  /// an interrupt ended it, driver when a device was removed.
  void start();
  /// Withdraws the exports; no access of a peer follows (doca_mmap_stop). Does nothing on a stopped map. Throws
  /// not_permitted while bufs of the map are out, and again while an access of a peer is under way, for which it waits
  /// some milliseconds at most: the map is still started and its exports are dead; call again.
  void stop();

  /// A description of the range for the other side of device's PCIe link, which may then read it, or read and write it,
  /// as the PCI flag of the permissions says (doca_mmap_export_pci); fewer than 512 bytes, equal at each call until
  /// stop(), which ends its validity.
  /// Throws not_permitted (imported, not started, or neither pci_read_only nor pci_read_write), not_found (device was
  /// not added), not_supported (device cannot export), operating_system (out of descriptors).
  std::vector<std::byte> export_pci(const Device& device);
  /// The same for peers on device's network (doca_mmap_export_rdma). They may then read, write or change it as the
  /// map's RDMA flags say, over a connection to an Rdma context that also permits it. Throws as export_pci() does,
  /// not_permitted when the permissions hold no RDMA flag.
  std::vector<std::byte> export_rdma(const Device& device);

  /// The memory key on device (rdma_bridge.hpp). Throws not_found unless the map is started with it, not_supported
  /// except for devices of rdma-core.
  std::uint32_t mkey(const Device& device) const;
  /// The devices in the order of their addition; empty once they were given back.
  std::vector<std::shared_ptr<Device>> devices() const;

  /// The map in messages: "mmap of 4096 bytes at 0x7f5c00000000", "mmap without a range".
  std::string describe() const;
  bool is_started() const noexcept { return open_len_ != 0; }
  /// Whether close() has done all.
  bool is_closed() const noexcept { return closed_; }
  bool is_thread_safe() const noexcept { return thread_safe_; }
  /// Whether it was exported since its start.
  bool is_exported() const noexcept { return exported_; }
  /// Whether create_from_export() made it.
  bool is_from_export() const noexcept { return imported_; }
  std::uint64_t addr() const noexcept { return addr_; }  ///< the owner's address of it; 0 without a range
  std::size_t len() const noexcept { return len_; }      ///< bytes; 0 without a range
  /// What keeps the memory; null where the caller of set_memrange() does, or the map is closed.
  const std::shared_ptr<const void>& owner() const noexcept { return owner_; }
  Access permissions() const noexcept { return access_; }
  std::uint64_t user_data() const noexcept { return user_data_; }
  std::uint32_t max_num_devices() const noexcept { return max_num_devices_; }
  std::size_t num_devices() const noexcept { return devices_.size(); }
  /// Bufs that point into it, of all inventories: while there is one, the map cannot stop.
  std::uint32_t num_bufs() const noexcept {
    return static_cast<std::uint32_t>(holds_.load(std::memory_order_acquire) / one_buf);
  }

  /// Whether [addr, addr + len) lies in the range; never overflows.
  bool contains(std::uint64_t addr, std::uint64_t len) const noexcept {
    return addr >= addr_ && len <= len_ && addr - addr_ <= len_ - len;
  }

 private:
  friend class BufSource;

  Mmap();

  // What holds the map: every buf, and in the lowest bit the program's shared pointers together. Locked instructions
  // would cost a buf more than all else, therefore only a map with thread safety uses them.
  static constexpr std::uint64_t program = 1;
  static constexpr std::uint64_t one_buf = 2;
  /// Whether a buf may be of [addr, addr + len): the map is started, the range is not empty, and lies in the map's. One
  /// comparison is for len and the state, the other for addr: the map's range does not wrap.
  bool allows_buf(std::uint64_t addr, std::uint64_t len) const noexcept {
    return len - 1 < open_len_ && addr - addr_ <= open_len_ - len;
  }
  void hold_for_buf() noexcept {
    if (thread_safe_) [[unlikely]] {
      holds_.fetch_add(one_buf, std::memory_order_relaxed);
    } else {
      holds_.store(holds_.load(std::memory_order_relaxed) + one_buf, std::memory_order_relaxed);
    }
  }
  /// Whether that was the last hold: the caller then deletes the map.
  bool let_go_of(std::uint64_t hold) noexcept {
    if (thread_safe_) [[unlikely]] {
      return holds_.fetch_sub(hold, std::memory_order_acq_rel) == hold;
    }
    const std::uint64_t left = holds_.load(std::memory_order_relaxed) - hold;
    holds_.store(left, std::memory_order_release);
    return left == 0;
  }

  /// Throws invalid_value when access allows writing.
  void require_no_writing(std::string_view what, Access access) const;
  void require_new_range(std::string_view what, const void* addr, std::size_t len) const;
  void require_configurable(std::string_view what, Status while_started = Status::bad_state) const;
  /// Throws status; the message names what was attempted, and this map.
  [[noreturn]] void refuse(Status status, std::string_view what, std::string_view why) const;
  void unregister();
  void withdraw_regions();
  void log(std::string_view what, const Device& device) const noexcept;
  /// The region of an exportable map on device.
  backend::MemoryRegion& region_for_export(const Device& device) const;
  void require_no_bufs(std::string_view what) const;

  std::vector<DeviceUse> devices_;
  std::array<backend::MemoryRegion*, max_open_devices> regions_by_ordinal_{};
  std::vector<std::unique_ptr<backend::MemoryRegion>> regions_;  ///< parallel to devices_ while started
  std::shared_ptr<const void> owner_;
  FreeCallback free_callback_;
  std::uint64_t free_user_data_ = 0;
  std::uint64_t addr_ = 0;
  std::size_t len_ = 0;
  std::uint64_t open_len_ = 0;  ///< len_ while started, else 0: no buf is of an empty range
  Access access_ = Access::local_read_write;
  std::uint64_t user_data_ = 0;
  std::uint32_t max_num_devices_ = default_max_num_devices;
  std::atomic<std::uint64_t> holds_{program};
  bool access_chosen_ = false;  ///< set_permissions() was called
  bool read_only_ = false;      ///< the range is
  bool ever_started_ = false;
  bool callback_due_ = false;  ///< started since the callback was set
  bool thread_safe_ = false;
  bool closing_ = false;  ///< closed, except for the bufs that are out
  bool exported_ = false;
  bool imported_ = false;
  bool closed_ = false;
};

}  // namespace pydoca

#pragma GCC visibility pop

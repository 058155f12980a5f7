#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/device.hpp"
#include "pydoca/status.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace pydoca::library {
class SyncEvent;
class SyncEventContext;
class SyncEventRemoteNet;
}  // namespace pydoca::library

namespace pydoca {

class SyncEventContext;

/// How a waiting thread spends its time: busy reads the value again and again, yield gives its core away in between.
enum class WaitMode : std::uint8_t { busy, yield };

/// Where an event is updated, or waited on (DOCA Core: publisher and subscriber locations).
enum class SyncEventLocation : std::uint8_t { none, cpu, remote_pci, remote_net, dpa, gpu };

/// A 64-bit counter with one publisher and one subscriber location (DOCA Core: doca_sync_event). Configured, then
/// started in one of two modes for life: synchronous by start(), asynchronous as a context (as_context()). After stop()
/// it can only be closed. An imported one refuses configuration with not_permitted, and is started like any other.
/// Configuration belongs to one thread; the synchronous operations may be called from any.
class SyncEvent : public std::enable_shared_from_this<SyncEvent> {
 public:
  static constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

  static std::shared_ptr<SyncEvent> create();
  /// A handle to the event that blob, made by export_to_remote_pci() on the other side, describes. Throws
  /// invalid_value and unsupported_version for a bad blob, not_permitted (the wrong device or side), not_connected (the
  /// exporter is gone), bad_state (it was stopped), not_supported (device without the capability), time_out and again
  /// (no answer; interrupted).
  static std::shared_ptr<SyncEvent> create_from_export(std::shared_ptr<Device> device, std::span<const std::byte> blob);

  /// Why an operation answers status, and what to do: one sentence.
  std::string explain(Status status) const;

  SyncEvent(const SyncEvent&) = delete;
  SyncEvent& operator=(const SyncEvent&) = delete;

  // Capabilities of a device.
  static bool is_supported(const DeviceInfo& info) noexcept;
  static bool is_export_to_remote_pci_supported(const DeviceInfo& info) noexcept;
  static bool is_create_from_export_supported(const DeviceInfo& info) noexcept;
  static bool is_export_to_remote_net_supported(const DeviceInfo& info) noexcept;
  static bool is_remote_net_create_from_export_supported(const DeviceInfo& info) noexcept;
  /// Never in this version: an event for the DPA or a GPU needs the processor itself.
  static bool is_export_to_dpa_supported(const DeviceInfo&) noexcept { return false; }
  static bool is_export_to_gpu_supported(const DeviceInfo&) noexcept { return false; }

  // Configuration, before the start: bad_state afterwards, not_permitted on an imported event, already_exist for a
  // second publisher or subscriber location. At least one of the two locations must be this CPU, with its device.
  void add_publisher_location_cpu(std::shared_ptr<Device> device);
  void add_subscriber_location_cpu(std::shared_ptr<Device> device);
  /// remote_pci, remote_net. Throws not_supported for dpa and gpu, invalid_value for what needs a device.
  void add_publisher_location(SyncEventLocation location);
  /// remote_pci. Throws not_supported for dpa, gpu and remote_net.
  void add_subscriber_location(SyncEventLocation location);
  /// The counter lives in these 8 bytes, which keep their value and which owner keeps alive. Throws invalid_value for
  /// null and for a misaligned address.
  void set_addr(void* address, std::shared_ptr<const void> owner = nullptr);
  /// The counter is buf's data section, which stays in use for as long: a single element of 8 aligned bytes
  /// (invalid_value) in a map whose permissions are local read-write and RDMA read, write and atomic, and PCI
  /// read-write where a location is remote_pci (not_permitted).
  void set_buf(Buf& buf);

  /// Fixes the synchronous mode. Throws invalid_value when a location is missing or the memory is not there, bad_state
  /// after as_context(), start() or stop().
  void start();
  /// Ends every export; the imported handles' operations fail from now on. Throws bad_state unless started by start(),
  /// again while a peer's access has not ended. close() must follow.
  void stop();
  /// Releases the object for good, stopping it; idempotent. Throws in_use while the context is not idle, again as
  /// stop() does.
  void close();

  /// Fixes the asynchronous mode; the same context each time. Throws bad_state after start(), invalid_value without
  /// locations.
  std::shared_ptr<SyncEventContext> as_context();

  /// A handle for the other side of device's PCIe link; < 512 bytes. Throws bad_state unless started, not_permitted
  /// (imported, no remote_pci location, another device than the event's), not_supported (the device; memory that
  /// another process cannot map: allocate it with pydoca.alloc).
  std::vector<std::byte> export_to_remote_pci(const Device& device);
  /// The same for a network peer; needs the publisher remote_net.
  std::vector<std::byte> export_to_remote_net();

  // Synchronous operations: bad_state unless started by start(), or when the exporter has stopped the event;
  // connection_reset when the exporter has died.
  [[nodiscard]] Status get(std::uint64_t& value) const noexcept;
  [[nodiscard]] Status update_set(std::uint64_t value) noexcept;
  /// Wraps modulo 2^64; previous receives the value before.
  [[nodiscard]] Status update_add(std::uint64_t increment, std::uint64_t& previous) noexcept;
  /// Until (value of the event & mask) > value. time_out; again when interrupted; connection_reset also for the death
  /// of a process that has imported the event, which all waits of that time report, or the next one; driver when the
  /// device is removed.
  [[nodiscard]] Status wait_gt(std::uint64_t value, std::uint64_t mask, WaitMode mode,
                               std::chrono::nanoseconds timeout = forever) noexcept;
  [[nodiscard]] Status wait_eq(std::uint64_t value, std::uint64_t mask, WaitMode mode,
                               std::chrono::nanoseconds timeout = forever) noexcept;
  [[nodiscard]] Status wait_neq(std::uint64_t value, std::uint64_t mask, WaitMode mode,
                                std::chrono::nanoseconds timeout = forever) noexcept;

  bool is_started() const noexcept;
  bool is_from_export() const noexcept;
  SyncEventLocation publisher() const noexcept;
  SyncEventLocation subscriber() const noexcept;
  /// Null until a CPU location was added.
  std::shared_ptr<Device> device() const noexcept;

 private:
  friend class library::SyncEvent;
  SyncEvent() = default;
  ~SyncEvent() = default;
};

/// A handle that a network peer made from export_to_remote_net(): an operand of RDMA tasks, never started
/// (DOCA Core: doca_sync_event_remote_net).
class SyncEventRemoteNet {
 public:
  SyncEventRemoteNet(const SyncEventRemoteNet&) = delete;
  SyncEventRemoteNet& operator=(const SyncEventRemoteNet&) = delete;

  /// Throws as SyncEvent::create_from_export() does.
  static std::shared_ptr<SyncEventRemoteNet> create_from_export(std::shared_ptr<Device> device,
                                                                std::span<const std::byte> blob);
  /// Releases the handle; idempotent.
  void close() noexcept;
  bool is_closed() const noexcept;
  const std::shared_ptr<Device>& device() const noexcept;

 private:
  friend class library::SyncEventRemoteNet;
  SyncEventRemoteNet() = default;
  ~SyncEventRemoteNet() = default;
};

}  // namespace pydoca

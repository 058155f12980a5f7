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

namespace pydoca::backend {
class ImportAnswer;
}

namespace pydoca::library {
class SyncEvent;
class SyncEventContext;
class SyncEventRemoteNet;
}  // namespace pydoca::library

#pragma GCC visibility push(default)

namespace pydoca {

class Dpa;
class DpaSyncEvent;
class SyncEventContext;

/// How a waiting thread spends its time: busy reads the value again and again, and gives its core away only after 50
/// us; yield gives its core away after each look.
enum class WaitMode : std::uint8_t { busy, yield };

/// Where an event is updated, or waited on (DOCA Core Programming Guide, sync event: publisher and subscriber
/// locations). none: not added yet. This version does not have gpu.
enum class SyncEventLocation : std::uint8_t { none, cpu, remote_pci, remote_net, dpa, gpu };

/// A 64-bit counter with one publisher and one subscriber location (DOCA Core Programming Guide, sync event:
/// doca_sync_event).
///
/// | state | the caller may | it ends |
/// |---|---|---|
/// | new | configure | by start(), or when the context of as_context() starts |
/// | synchronous | get, update, wait, export | by stop() or close() |
/// | asynchronous | export; tasks of the context do the rest | when its context has stopped |
/// | stopped | close | by close() |
/// | closed | ask for its properties | |
///
/// An event has one mode for life, and is started once. An imported event refuses configuration with not_permitted, and
/// is started like any other.
///
/// Ownership: the event uses its device, and holds the owner of its memory or a buf of its own, until it is closed. Its
/// context holds the event; the event does not hold its context.
///
/// Thread safety: get(), the updates, the waits and explain() may be called from any thread while the event is started;
/// the other functions, from one thread at a time, which for an asynchronous event is its progress engine's.
class SyncEvent : public std::enable_shared_from_this<SyncEvent> {
 public:
  static constexpr std::chrono::nanoseconds forever = std::chrono::nanoseconds::max();

  /// A new event without locations (doca_sync_event_create).
  static std::shared_ptr<SyncEvent> create();
  /// A handle to the event that blob describes, made by export_to_remote_pci() on the other side of device's PCIe link
  /// (doca_sync_event_create_from_export). Asks the exporting process, and so waits for it. Throws invalid_value
  /// (device is null, or blob is damaged or of something else), unsupported_version (blob of another version of
  /// pydoca), bad_state (device is closed), not_supported (device cannot import events), not_permitted (exported to
  /// another device, fabric or user), not_connected (the event was stopped, or the exporter is gone), time_out (it does
  /// not answer), again (an interrupt ended the wait), operating_system (out of descriptors), driver (device was
  /// removed).
  static std::shared_ptr<SyncEvent> create_from_export(std::shared_ptr<Device> device, std::span<const std::byte> blob);
  /// The same with the exporting process's complete answer, and the question for it, null where none is asked: for
  /// Import<SyncEvent> (import.hpp), which does not wait.
  static std::shared_ptr<SyncEvent> create_from_export(std::shared_ptr<Device> device, std::span<const std::byte> blob,
                                                       const std::shared_ptr<backend::ImportAnswer>& answer);
  static std::shared_ptr<backend::ImportAnswer> ask_for_export(const std::shared_ptr<Device>& device,
                                                               std::span<const std::byte> blob);

  /// Why a synchronous operation answered status, and what to do: one sentence.
  std::string explain(Status status) const;

  SyncEvent(const SyncEvent&) = delete;
  SyncEvent& operator=(const SyncEvent&) = delete;

  // Capabilities of a device.
  static bool is_supported(const DeviceInfo& info) noexcept;
  static bool is_export_to_remote_pci_supported(const DeviceInfo& info) noexcept;
  static bool is_create_from_export_supported(const DeviceInfo& info) noexcept;
  static bool is_export_to_remote_net_supported(const DeviceInfo& info) noexcept;
  static bool is_remote_net_create_from_export_supported(const DeviceInfo& info) noexcept;
  static bool is_export_to_dpa_supported(const DeviceInfo& info) noexcept;
  /// Never in this version: an event for a GPU needs one.
  static bool is_export_to_gpu_supported(const DeviceInfo&) noexcept { return false; }

  // Configuration of a new event. Once the event was started or made a context, and on an imported event, the locations
  // throw invalid_value and the memory bad_state; what else each throws is said there. An event needs both locations,
  // one of them at least of this CPU.
  /// This CPU, as device's side of the link. Both locations take the same device. Throws invalid_value when the event
  /// has a publisher, for null and for another device than the subscriber's, bad_state when the device is
  /// closed, not_supported when it has no sync events.
  void add_publisher_location_cpu(std::shared_ptr<Device> device);
  /// The same for the subscriber.
  void add_subscriber_location_cpu(std::shared_ptr<Device> device);
  /// The DPA, on whose device the event then is; kernels update the event by dpa_handle(). Throws as the calls for this
  /// CPU do.
  void add_publisher_location_dpa(const std::shared_ptr<Dpa>& dpa);
  /// The same for the subscriber: kernels wait for the event. Such an event has the synchronous mode only.
  void add_subscriber_location_dpa(const std::shared_ptr<Dpa>& dpa);
  /// remote_pci or remote_net. Throws not_supported for gpu, invalid_value when the event has a publisher, for none,
  /// cpu and dpa.
  void add_publisher_location(SyncEventLocation location);
  /// remote_pci. Throws not_supported for gpu and remote_net, invalid_value when the event has a subscriber, for none,
  /// cpu and dpa.
  void add_subscriber_location(SyncEventLocation location);
  /// Puts the counter into these 8 bytes, which keep their value; owner is held until the event is closed. Without this
  /// call and set_buf() the event has memory of its own, with the value 0. Throws invalid_value for null, for an
  /// address that is not a multiple of 8, and after set_buf().
  void set_addr(void* address, std::shared_ptr<const void> owner = nullptr);
  /// Puts the counter into buf's data section, and has the buf until the event is closed. Throws invalid_value unless
  /// buf is a single element with 8 aligned bytes of data, and when the memory is set; not_permitted unless its map is
  /// of this process's memory, with the permissions local_read_write, rdma_read, rdma_write and rdma_atomic.
  void set_buf(Buf& buf);

  /// Whether waits go on after the last process that had imported the event has gone, for the next one to come. By
  /// default they end, with not_connected, if the publisher is remote_pci or remote_net: then nothing can change the
  /// event any more. Other events ignore it. Throws bad_state.
  void set_outlives_importers(bool outlives);

  /// Starts the event in the synchronous mode (doca_sync_event_start). Throws invalid_value when a location or a device
  /// is missing, when the memory is not mapped, and unless the event is new; not_permitted for a location remote_pci
  /// and a buf whose map lacks pci_read_write, bad_state after as_context(), no_memory, operating_system (out of
  /// descriptors), driver (the device was removed).
  void start();
  /// Ends every export (doca_sync_event_stop): operations on imported handles answer not_connected from now on. close()
  /// must follow. Throws invalid_value unless the event is started, bad_state after as_context(), again while a
  /// peer's access is under way; then call again.
  void stop();
  /// Stops the event and its context, and releases the object for good (doca_sync_event_destroy). Idempotent. Throws
  /// in_use while the context is not idle, again as stop() does.
  void close();

  /// The context of the asynchronous mode, which is not started yet (doca_sync_event_as_ctx); the same one for as long
  /// as it exists. Throws bad_state when the event was started, not_supported when its subscriber is the DPA,
  /// invalid_value and not_permitted as start() does for locations.
  std::shared_ptr<SyncEventContext> as_context();

  /// A description of the event for the other side of device's PCIe link, fewer than 512 bytes
  /// (doca_sync_event_export_to_remote_pci); valid until the event stops. Throws invalid_value (not started, imported,
  /// no location remote_pci, or another device than the event's), not_supported (the device cannot; or memory that
  /// another process cannot map for writing, which Memory::allocate() makes), operating_system (out of descriptors).
  std::vector<std::byte> export_to_remote_pci(const Device& device);
  /// The same for peers on the network of the event's device, whose publisher must be remote_net (invalid_value).
  std::vector<std::byte> export_to_remote_net();
  /// Gives a handle for kernels of the DPA that is one of its locations (doca_sync_event_get_dpa_handle); the same
  /// handle each time. It answers bad_state once the event has stopped. Throws invalid_value (not started, imported, or
  /// another DPA).
  std::shared_ptr<DpaSyncEvent> dpa_handle(const Dpa& dpa);

  // Synchronous operations, from any thread. bad_state unless the event is synchronous; not_connected when its exporter
  // has stopped it; connection_reset when its exporter has died. An update wakes the waits and sleeping engines of all
  // processes.
  Status get(std::uint64_t& value) const noexcept;
  Status update_set(std::uint64_t value) noexcept;
  /// Adds modulo 2^64; previous receives the value before.
  Status update_add(std::uint64_t increment, std::uint64_t& previous) noexcept;

  // Waits, which block until the value of the event, masked by mask, is greater than value, equal to it, or not. Any
  // mask will do; the tasks of the context take fewer. time_out after timeout; again when an interrupt ended the wait;
  // connection_reset also for the death of a process that had imported the event, which all waits of that time report,
  // or the next one; not_connected while only importers can change the event and all of them have gone
  // (set_outlives_importers()); driver when the device was removed; bad_state when another thread stopped the event.
  Status wait_gt(std::uint64_t value, std::uint64_t mask, WaitMode mode,
                 std::chrono::nanoseconds timeout = forever) noexcept;
  Status wait_eq(std::uint64_t value, std::uint64_t mask, WaitMode mode,
                 std::chrono::nanoseconds timeout = forever) noexcept;
  Status wait_neq(std::uint64_t value, std::uint64_t mask, WaitMode mode,
                  std::chrono::nanoseconds timeout = forever) noexcept;

  /// Whether it is in the synchronous mode and not stopped.
  bool is_started() const noexcept;
  /// Whether close() has released it, as closing its context also does.
  bool is_closed() const noexcept;
  /// What set_outlives_importers() set.
  bool outlives_importers() const noexcept;
  /// Whether create_from_export() made it.
  bool is_from_export() const noexcept;
  SyncEventLocation publisher() const noexcept;
  SyncEventLocation subscriber() const noexcept;
  /// Null until a CPU location was added.
  std::shared_ptr<Device> device() const noexcept;

 protected:
  // library::SyncEvent derives.
  SyncEvent() = default;
  ~SyncEvent() = default;
};

/// A handle that a network peer makes from export_to_remote_net(): an operand of RDMA tasks, never started (DOCA Core
/// Programming Guide, sync event: doca_sync_event_remote_net). It uses its device until it is closed or destroyed. One
/// thread at a time.
class SyncEventRemoteNet {
 public:
  SyncEventRemoteNet(const SyncEventRemoteNet&) = delete;
  SyncEventRemoteNet& operator=(const SyncEventRemoteNet&) = delete;

  /// Throws as SyncEvent::create_from_export() does. A device of rdma-core asks no other process.
  static std::shared_ptr<SyncEventRemoteNet> create_from_export(std::shared_ptr<Device> device,
                                                                std::span<const std::byte> blob);
  // SyncEvent has the same.
  static std::shared_ptr<SyncEventRemoteNet> create_from_export(std::shared_ptr<Device> device,
                                                                std::span<const std::byte> blob,
                                                                const std::shared_ptr<backend::ImportAnswer>& answer);
  static std::shared_ptr<backend::ImportAnswer> ask_for_export(const std::shared_ptr<Device>& device,
                                                               std::span<const std::byte> blob);
  /// Releases the handle; idempotent. Not while a task that was submitted has it: submission refuses a closed handle.
  void close() noexcept;
  bool is_closed() const noexcept;
  const std::shared_ptr<Device>& device() const noexcept;
  /// The object by which another language knows it; null: none.
  void* face() const noexcept { return face_; }
  void set_face(void* face) noexcept { face_ = face; }

 protected:
  // library::SyncEventRemoteNet derives.
  SyncEventRemoteNet() = default;
  ~SyncEventRemoteNet() = default;

 private:
  void* face_ = nullptr;
};

}  // namespace pydoca

#pragma GCC visibility pop

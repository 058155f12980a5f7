#pragma once

#include "pydoca/backend/memory.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/types.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// What a backend offers to the engine. Its words are the verbs': a memory region is memory as one device sees it, a
/// queue takes operations and gives completions, a channel carries messages. No code above these headers knows a
/// backend, and no code below them knows a progress engine, a context or a task.
namespace pydoca::backend {

class Counter;
class DataQueue;
class Dialer;
class ImportAnswer;
class Listener;
class Notifier;
class Processor;
class RdmaQueue;
enum class CounterScope : std::uint8_t;
struct ChannelOptions;
struct EngineTraits;
struct QueueOptions;
struct RdmaOptions;

/// The clocks of a device.
enum class DeviceClock : std::uint8_t { free_running, real_time, dpa_timer };

/// An open function. A device that cannot do something throws not_supported, as these defaults do. removed() and
/// replaced() may be called in any thread, the others in one at a time. Regions, queues, counters and channels go
/// before their device.
class Device {
 public:
  virtual ~Device() = default;

  /// Surprise removal: every operation fails from now on.
  virtual bool removed() const noexcept { return false; }
  /// Whether this function, opened again, is another device by now. This one stays as it is.
  virtual bool replaced() const noexcept { return false; }
  /// Notifies from any thread when the device is removed, until unwatch_removal(). Does nothing where the descriptors
  /// of queues announce it.
  virtual void watch_removal(Notifier& /*notifier*/) {}
  virtual void unwatch_removal(Notifier& /*notifier*/) noexcept {}
  virtual std::vector<RepresentorProperties> representors(RepFilter filter);
  /// The representors of representors(RepFilter::all) whose name, interface or PCI address (in the long form) is word.
  virtual std::vector<RepresentorProperties> find_representors(std::string_view word);
  virtual void accelerate_resource_reclaim();
  /// Cycles, or nanoseconds since 1970. driver when the device was removed, not_supported for a clock that it lacks.
  virtual Status read_clock(DeviceClock /*clock*/, std::uint64_t& /*value*/) noexcept { return Status::not_supported; }
  /// access is the memory map's: the local flag, and what its exports may permit.
  virtual std::unique_ptr<MemoryRegion> register_memory(const MemoryRange& range, Access access);
  /// Memory that blob, an export of the other side of the PCIe link or of a network peer, describes. Throws
  /// invalid_value, unsupported_version, not_permitted, not_connected (withdrawn, or the owner is gone), time_out,
  /// again when a signal ended the wait for the owner, and not_supported for exports that the device does not import.
  /// answer: that of ask_for_memory(blob), or null; it waits for what the answer lacks.
  virtual ImportedRegion import_memory(std::span<const std::byte> blob, const std::shared_ptr<ImportAnswer>& answer);
  /// Begins to ask the owner. Throws as import_memory() does; null where the device asks no other process.
  virtual std::shared_ptr<ImportAnswer> ask_for_memory(std::span<const std::byte> blob);
  /// rdma-core's struct ibv_pd. Throws not_supported.
  virtual void* protection_domain() const;
  /// A queue of that engine. The notifier outlives the queue.
  virtual std::unique_ptr<DataQueue> create_queue(const EngineTraits& engine, const QueueOptions& options,
                                                  Notifier& notifier);
  /// In 8 aligned bytes of this process, which keep their value, or in memory of its own, starting at 0. Throws
  /// invalid_value when the memory is not there.
  virtual std::unique_ptr<Counter> create_counter(const MemoryRange* memory);
  /// The same for a counter.
  virtual std::unique_ptr<Counter> import_counter(std::span<const std::byte> blob, CounterScope scope,
                                                  const std::shared_ptr<ImportAnswer>& answer);
  virtual std::shared_ptr<ImportAnswer> ask_for_counter(std::span<const std::byte> blob, CounterScope scope);
  /// Throws already_exist when the representor has a server of that name.
  virtual std::unique_ptr<Listener> listen(const RepresentorProperties& representor, std::string_view service,
                                           const ChannelOptions& options);
  /// Throws invalid_value for options that the device does not take. The notifier outlives the queue.
  virtual std::unique_ptr<RdmaQueue> create_rdma_queue(const RdmaOptions& options, Notifier& notifier);
  /// Creates its DPA. Only the processor's threads may outlive the device.
  virtual std::unique_ptr<Processor> create_processor();
  virtual std::unique_ptr<Dialer> dial(std::string_view service, const ChannelOptions& options);
};

/// The properties of a function, which a backend and any number of DeviceInfo share.
using SharedProperties = std::shared_ptr<const DeviceProperties>;

/// A device that was made of an application's protection domain.
struct AdoptedDevice {
  DeviceProperties properties;
  std::unique_ptr<Device> device;
};

/// The recordings of other processes, for one trace.
class Recordings {
 public:
  virtual ~Recordings() = default;
  /// Ends them, and returns their files, one for each process, the dead among them. They stay open as long as this
  /// object lives. What another process writes there may be anything.
  virtual std::vector<int> stop() = 0;
};

/// A family of devices. Its calls may come from any thread.
class Backend {
 public:
  virtual ~Backend() = default;
  /// "sim", "verbs": what PYDOCA_BACKEND selects.
  virtual std::string_view name() const noexcept = 0;
  /// Why enumerate() finds nothing, and what to do about it; or empty.
  virtual std::string unavailable() const { return {}; }
  virtual std::vector<DeviceProperties> enumerate() = 0;
  /// What enumerate() gives. A backend with many functions shares their properties.
  virtual std::vector<SharedProperties> list();
  /// The functions of list() whose PCI address (in the long form), name, ibdev name or interface is word. A backend
  /// with many functions has an index.
  virtual std::vector<SharedProperties> find(std::string_view word);
  /// Throws not_found when the function has gone since enumeration. ordinal < max_open_devices, and no other open
  /// device of the process has it.
  virtual std::unique_ptr<Device> open(const DeviceProperties& properties, std::size_t ordinal) = 0;
  /// Opens a device on rdma-core's struct ibv_pd, which outlives the device. Throws not_supported.
  virtual AdoptedDevice adopt(void* protection_domain, std::size_t ordinal);
  /// Has other processes record until stop(), also those that come later; null where a backend's processes do not know
  /// one another. capacity: records of each thread. Throws operating_system, and what the fabric's directory may throw.
  virtual std::unique_ptr<Recordings> record_others(std::uint32_t /*capacity*/) { return nullptr; }
};

/// The built-in backends, in order of enumeration.
std::span<Backend* const> backends();

// The device with what the installed fault plan (faults.hpp) does, whatever its backend; without a plan, the device
// itself.

/// The device that was opened, with its faults.
std::unique_ptr<Device> with_faults(std::unique_ptr<Device> device, const DeviceProperties& properties,
                                    std::size_t ordinal);
/// Has an enumeration show what the plan wants shown.
void misreport(std::vector<SharedProperties>& devices);
/// The number of the plan whose faults the function would have if it was opened now; 0: none.
std::uint64_t fault_plan_of(const DeviceProperties& properties) noexcept;

}  // namespace pydoca::backend

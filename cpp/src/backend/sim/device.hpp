#pragma once

#include "pydoca/backend/channel.hpp"
#include "pydoca/backend/counter.hpp"
#include "pydoca/backend/device.hpp"
#include "pydoca/backend/engine.hpp"
#include "pydoca/backend/memory.hpp"
#include "pydoca/backend/notifier.hpp"
#include "pydoca/backend/processor.hpp"
#include "pydoca/backend/queue.hpp"
#include "pydoca/backend/rdma.hpp"
#include "pydoca/device_properties.hpp"

#include "backend/sim/clock/clock.hpp"
#include "backend/sim/memory/blob.hpp"
#include "backend/sim/place/place.hpp"
#include "backend/sim/time/function_model.hpp"
#include "backend/sim/time/modelled_channel.hpp"
#include "backend/sim/trace/member.hpp"
#include "backend/sim/work/work_engine.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace pydoca::sim {

/// An open function of the simulated card: makes its regions, counters, channels and queues.
class Device final : public backend::Device {
 public:
  Device(PresentFunction present, std::string fabric, std::size_t ordinal);

  const Place& place() const noexcept { return place_; }

  bool removed() const noexcept override { return place_.removed(); }
  bool replaced() const noexcept override;
  void watch_removal(backend::Notifier& notifier) override;
  void unwatch_removal(backend::Notifier& notifier) noexcept override { place_.removal().unwatch(notifier); }
  std::vector<RepresentorProperties> representors(RepFilter filter) override;
  std::vector<RepresentorProperties> find_representors(std::string_view word) override;
  /// The simulator has nothing that is costly to make again, so a device that is said to keep it has nothing to do.
  void accelerate_resource_reclaim() override;
  Status read_clock(backend::DeviceClock clock, std::uint64_t& value) noexcept override;
  std::unique_ptr<backend::MemoryRegion> register_memory(const backend::MemoryRange& range, Access access) override;
  backend::ImportedRegion import_memory(std::span<const std::byte> blob,
                                        const std::shared_ptr<backend::ImportAnswer>& answer) override;
  std::shared_ptr<backend::ImportAnswer> ask_for_memory(std::span<const std::byte> blob) override;
  std::unique_ptr<backend::RdmaQueue> create_rdma_queue(const backend::RdmaOptions& options,
                                                        backend::Notifier& notifier) override;
  std::unique_ptr<backend::DataQueue> create_queue(const backend::EngineTraits& engine,
                                                   const backend::QueueOptions& options,
                                                   backend::Notifier& notifier) override;
  std::unique_ptr<backend::Counter> create_counter(const backend::MemoryRange* memory) override;
  std::unique_ptr<backend::Counter> import_counter(std::span<const std::byte> blob, backend::CounterScope scope,
                                                   const std::shared_ptr<backend::ImportAnswer>& answer) override;
  std::shared_ptr<backend::ImportAnswer> ask_for_counter(std::span<const std::byte> blob,
                                                         backend::CounterScope scope) override;
  std::unique_ptr<backend::Listener> listen(const RepresentorProperties& representor, std::string_view service,
                                            const backend::ChannelOptions& options) override;
  std::unique_ptr<backend::Processor> create_processor() override;
  std::unique_ptr<backend::Dialer> dial(std::string_view service, const backend::ChannelOptions& options) override;

 private:
  void join_traces() noexcept;
  /// The counter, or one in front of it where its changes have a model of their time.
  std::unique_ptr<backend::Counter> modelled(std::unique_ptr<backend::Counter> counter, const Crossing& crossing) const;
  /// How long the channels' messages take; none: the model does not say.
  std::optional<ChannelModel> channel_model(const backend::ChannelOptions& options) const;
  /// The kind of export that the import of blob takes it for; none: the device imports no memory. Throws not_supported.
  std::optional<BlobType> importable_type(std::span<const std::byte> blob) const;
  /// Throws driver when the function has been pulled out.
  void require_present(std::string_view what) const;
  /// Throws driver then, invalid_value for what is not a filter, not_supported for one that it lacks.
  void require_filter(RepFilter filter) const;

  const DeviceProperties& properties() const noexcept { return place_.properties(); }
  const Capabilities& capabilities() const noexcept { return place_.capabilities(); }

  const Place place_;
  WorkEngine engine_;
  const Clock clock_;
  const std::uint64_t config_;                  ///< the number of the configuration that model_ is of
  const std::shared_ptr<FunctionModel> model_;  ///< how long its operations take; null: as fast as this machine
  std::mutex member_mutex_;                     ///< contexts of several engines may start at a time
  std::shared_ptr<Member> member_;              ///< once the device is in use
};

}  // namespace pydoca::sim

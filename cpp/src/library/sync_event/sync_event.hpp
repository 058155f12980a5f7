#pragma once

#include "pydoca/backend/counter.hpp"
#include "pydoca/context.hpp"
#include "pydoca/sync_event.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace pydoca::library {

struct DpaState;

/// Why an imported event answers not_connected.
inline constexpr std::string_view owner_left = "its owner has stopped it; import another";
/// Why a wait for an own event ended with not_connected.
inline constexpr std::string_view importers_left =
    "no process that had imported it is left to change it; configure it to outlive its importers to wait for the next";

class SyncEvent final : public pydoca::SyncEvent {
 public:
  enum class Phase : std::uint8_t { configuring, synchronous, asynchronous, stopped, closed };
  struct Word {
    std::uint64_t* address = nullptr;
    std::shared_ptr<const void> owner;
  };

  SyncEvent() = default;
  ~SyncEvent();

  Phase phase() const noexcept { return phase_.load(std::memory_order_acquire); }
  bool is_synchronous() const noexcept { return phase() == Phase::synchronous; }
  /// Whether its mode is that of a context, which may not run yet.
  bool is_asynchronous() const noexcept {
    return phase() == Phase::asynchronous || (phase() == Phase::configuring && !context_.expired());
  }
  /// Whether it is in either mode.
  bool has_counter() const noexcept { return phase() == Phase::synchronous || phase() == Phase::asynchronous; }
  std::string_view explain_phase() const noexcept;
  /// Throws refusal when the event was imported or started, or is a context.
  void require_configurable(std::string_view what, Status refusal) const;
  void require_locations(std::string_view what) const;
  void require_exportable(std::string_view what) const;
  void add_cpu(std::string_view what, SyncEventLocation& where, std::shared_ptr<Device> device);
  void add_dpa(std::string_view what, SyncEventLocation& where, const std::shared_ptr<Dpa>& dpa);
  /// Makes the counter, unless it was imported.
  void open_counter(std::string_view what);
  /// Releases the device and the memory; close() was called, here or on the context.
  void release() noexcept;
  /// What ends a wait that began when so many deaths had been told, or success: the counter's failure,
  /// not_connected when only importers can change the event and none is left, io_failed when its DPA has failed.
  Status failure(std::uint32_t told) noexcept {
    const bool is_abandoned = needs_importers_ && counter_->is_abandoned();  // asked first: a death counts before that
    const Status status = counter_->failure(told);
    if (status == Status::success && is_abandoned) {
      return Status::not_connected;
    }
    return status == Status::success && dpa_ != nullptr ? dpa_failure() : status;
  }
  /// io_failed when the DPA that publishes the event has failed.
  Status dpa_failure() const noexcept;
  template <class Satisfied>
  Status wait(Satisfied satisfied, WaitMode mode, std::chrono::nanoseconds timeout) noexcept;
  template <class Satisfied>
  Status wait_for_change(Satisfied satisfied, WaitMode mode, std::chrono::nanoseconds timeout) noexcept;
  template <class Satisfied>
  Status wait_in_virtual_time(Satisfied satisfied, std::chrono::nanoseconds timeout) noexcept;
  [[gnu::cold, gnu::noinline]] void record(TraceEventKind kind, std::uint64_t begin,
                                           std::uint64_t value) const noexcept;

  std::shared_ptr<Device> device_;
  std::unique_ptr<DeviceUse> use_;
  SyncEventLocation publisher_ = SyncEventLocation::none;
  SyncEventLocation subscriber_ = SyncEventLocation::none;
  Word word_;
  Buf* buf_ = nullptr;
  std::unique_ptr<backend::Counter> counter_;
  std::weak_ptr<Context> context_;  ///< what runs an asynchronous event
  std::atomic<Phase> phase_{Phase::configuring};
  std::shared_ptr<DpaState> dpa_;  ///< the DPA of a location dpa
  std::weak_ptr<DpaSyncEvent> dpa_handle_;
  bool imported_ = false;
  bool outlives_importers_ = false;
  bool needs_importers_ = false;  ///< its waits end when the last importer has gone
  TraceLabel trace_label_;

 private:
  void add_device(std::string_view what, std::shared_ptr<Device> device);
};

/// What the DPA of a location says of its failure.
std::string explain_dpa_failure(const SyncEvent& event);

inline SyncEvent& of(pydoca::SyncEvent& event) noexcept { return static_cast<SyncEvent&>(event); }
inline const SyncEvent& of(const pydoca::SyncEvent& event) noexcept { return static_cast<const SyncEvent&>(event); }

class SyncEventRemoteNet final : public pydoca::SyncEventRemoteNet {
 public:
  SyncEventRemoteNet() = default;

  std::shared_ptr<Device> device_;
  std::unique_ptr<DeviceUse> use_;
  std::unique_ptr<backend::Counter> counter_;  ///< null once closed
};

inline SyncEventRemoteNet& of(pydoca::SyncEventRemoteNet& event) noexcept {
  return static_cast<SyncEventRemoteNet&>(event);
}
inline const SyncEventRemoteNet& of(const pydoca::SyncEventRemoteNet& event) noexcept {
  return static_cast<const SyncEventRemoteNet&>(event);
}

}  // namespace pydoca::library

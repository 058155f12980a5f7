/// Python's SyncEvent and SyncEventRemoteNet.
#pragma once

#include <pydoca/dpa.hpp>
#include <pydoca/sync_event.hpp>

#include "convert/collectable.hpp"
#include "convert/pybind.hpp"
#include "device/device_user.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace pydoca::bindings {

class ContextObject;

/// The mask of a wait that compares whole values.
inline constexpr std::uint64_t all_bits = ~std::uint64_t{0};

/// The condition of a wait, in Python's syntax. comparison: ">", "==" or "!=".
std::string condition(std::string_view comparison, std::uint64_t value, std::uint64_t mask);

/// The comparison of a wait.
struct WaitFor {
  using Function = Status (SyncEvent::*)(std::uint64_t, std::uint64_t, WaitMode, std::chrono::nanoseconds) noexcept;

  Function function;
  const char* name;  ///< the name of the method, for messages
  WaitMode mode;
};

/// A sync event as Python has it. Any thread may call the synchronous operations. A wait that is not over at once
/// releases the GIL.
class SyncEventObject final : public DeviceUser {
 public:
  struct Options {
    SyncEventLocation publisher;
    SyncEventLocation subscriber;
    std::shared_ptr<Dpa> publisher_dpa;   ///< the DPA of the location dpa; null for others
    std::shared_ptr<Dpa> subscriber_dpa;  ///< the same
    py::object memory;                    ///< a writable buffer of 8 aligned bytes, or None
    py::object buf;                       ///< a Buf, or None
    bool outlives_importers;
  };

  SyncEventObject(py::object device, const Options& options);
  /// An event that was imported on device.
  SyncEventObject(py::object device, std::shared_ptr<SyncEvent> imported);

  SyncEvent& event() const noexcept { return *event_; }
  const py::object& device_ref() const noexcept { return device_; }
  bool is_closed() const noexcept { return closed_ || event_->is_closed(); }

  void start();
  void stop();
  /// With its context, as closing that closes the event. Idempotent. Throws in_use while another thread waits, and
  /// unless the context is idle.
  void close();
  /// Enters a with block: starts unless started.
  void enter();

  py::bytes export_to_remote_pci(const py::object& device) const;
  py::bytes export_to_remote_net() const;

  /// The context of the asynchronous mode; null when Python has none.
  ContextObject* context() const noexcept { return context_; }
  void set_context(ContextObject* context) noexcept;
  /// The context was closed, and the engine's event with it.
  void closed_by_context() { buf_ = py::none(); }

  // These throw the operation's error.
  std::uint64_t get() const;
  void update_set(std::uint64_t value);
  std::uint64_t update_add(std::uint64_t increment);
  void wait(const WaitFor& what, std::uint64_t value, std::uint64_t mask, std::chrono::nanoseconds timeout);

  /// The state for repr(): "started", ...
  std::string_view state() const noexcept;
  /// The number of threads that wait without the GIL.
  std::size_t num_waits() const noexcept { return waits_; }
  /// "the value is 7", for errors.
  std::string value_seen() const;
  /// The name of the device that it is on; "no CPU" when neither location has one.
  std::string place() const;
  void each_reference(References& references) const { references.keep(buf_); }

 private:
  bool uses(const DeviceObject& device) const override;
  void close_if_idle() override;
  void add_locations(const Options& options);
  void set_memory(const py::object& memory);
  [[noreturn]] void refuse(std::string_view operation, Status status) const;
  [[noreturn]] void refuse_wait(const WaitFor& what, std::uint64_t value, std::uint64_t mask, Status status) const;

  py::object device_;
  py::object buf_;  ///< the memory of the event, with the buf's inventory and map, or None
  std::shared_ptr<SyncEvent> event_;
  ContextObject* context_ = nullptr;
  std::size_t waits_ = 0;
  bool had_context_ = false;
  bool stopped_ = false;
  bool closed_ = false;
};

}  // namespace pydoca::bindings

#pragma once

#include "pydoca/backend/memory.hpp"
#include "pydoca/backend/notifier.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/faults.hpp"

#include "backend/faulty/plan/plan.hpp"
#include "backend/faulty/plan/selection.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

namespace pydoca::faulty {

class Alarm;

/// What a plan does to one device: to single operations, and to the device as a whole.
class DeviceFaults {
 public:
  DeviceFaults(std::shared_ptr<Plan> plan, const DeviceProperties& properties, std::size_t ordinal);

  /// What happens to the operation. Kills or stops this process, removes the device or breaks its links when that is to
  /// happen: a removed device's operation is the caller's to end.
  Fault decide(Opcode opcode, std::uint64_t length) noexcept;
  Fault decide(LinkOpcode opcode, std::uint64_t length) noexcept { return decide(number_of(opcode), length); }
  void note_impossible(const Fault& fault, Spared why) noexcept { plan_->note_impossible(fault, why); }
  bool has(FaultAction action) const noexcept;
  std::uint64_t installation() const noexcept { return installation_; }
  std::size_t ordinal() const noexcept { return ordinal_; }

  bool removed() const noexcept { return removed_.load(std::memory_order_acquire); }
  bool link_is_down() const noexcept;
  /// A moment of detail::now(); never: until the plan is removed.
  std::uint64_t link_up_at() const noexcept { return link_up_at_.load(std::memory_order_acquire); }
  /// Grows whenever the link breaks: what was connected before is not any more.
  std::uint32_t link_breaks() const noexcept { return link_breaks_.load(std::memory_order_acquire); }
  /// Throws connection_aborted while the link is down.
  void require_link(const char* what) const;

  // Notified, or rung, from any thread when the device is removed or its link breaks.
  void watch(backend::Notifier& notifier);
  void unwatch(backend::Notifier& notifier) noexcept;
  void watch(Alarm& alarm);
  void unwatch(Alarm& alarm) noexcept;

  void note_region(const backend::MemoryRegion& region, bool imported);
  /// Whether the element is memory of this process, at its own address.
  bool is_local(const Segment& segment) const noexcept;

 private:
  template <class T>
  struct Watcher {
    T* watcher;
    std::uint32_t forks;  ///< a forked child leaves its parent's alone
  };

  void remove() noexcept;
  void break_link(const FaultRule& rule) noexcept;
  void tell() noexcept;

  const std::shared_ptr<Plan> plan_;
  const std::uint64_t installation_;
  const DeviceProperties properties_;
  const std::size_t ordinal_;
  std::array<std::vector<std::size_t>, max_opcodes> rules_;  ///< their numbers, by opcode
  std::atomic<bool> removed_{false};
  std::atomic<std::uint64_t> link_up_at_{0};
  std::atomic<std::uint32_t> link_breaks_{0};
  mutable std::mutex mutex_;  ///< guards what follows
  std::vector<Watcher<backend::Notifier>> notifiers_;
  std::vector<Watcher<Alarm>> alarms_;
  std::unordered_set<const backend::MemoryRegion*> imported_;
};

}  // namespace pydoca::faulty

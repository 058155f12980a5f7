#pragma once

#include "pydoca/backend/device.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/faults.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace pydoca::faulty {

/// What happens to one operation.
struct Fault {
  const FaultRule* rule = nullptr;  ///< null: nothing
  std::size_t number = 0;           ///< the rule's number
  std::uint64_t random = 0;         ///< chooses what the rule leaves open

  /// The number in texts, which count rules from 1.
  std::uint32_t text_number() const noexcept { return static_cast<std::uint32_t>(number) + 1; }
  bool is(FaultAction action) const noexcept { return rule != nullptr && rule->action == action; }
};

/// Why an operation that a rule met was left alone.
enum class Spared : std::uint8_t {
  elsewhere,  ///< its data is in memory that this process does not reach
  too_short   ///< it moved too few bytes for what the rule changes
};

/// The rules, how often they have matched, and the random numbers of each.
class Plan final : public FaultPlan {
 public:
  Plan(std::vector<FaultRule> rules, std::uint64_t seed);

  bool leave_force() noexcept override;
  bool is_in_force() const noexcept override { return in_force_.load(std::memory_order_acquire); }
  const std::vector<FaultRule>& rules() const noexcept override { return rules_; }
  std::uint64_t seed() const noexcept override { return seed_; }
  bool concerns(const DeviceProperties& properties) const noexcept override;
  std::vector<FaultReport> report() const override;

  /// Identifies this installation: another one has another number.
  std::uint64_t installation() const noexcept { return installation_.load(std::memory_order_relaxed); }
  /// The first fault that meets the operation, of the rules with these numbers. Each of them counts it.
  Fault decide(std::span<const std::size_t> numbers, FaultOperation operation) noexcept;
  /// The operation that the fault met was left alone.
  void note_impossible(const Fault& fault, Spared why) noexcept;
  void note_opened(const DeviceProperties& properties);
  void note_removed(const DeviceProperties& properties);
  /// What an enumeration shows: without removed devices, and with misreported capabilities.
  void misreport(std::vector<backend::SharedProperties>& devices);

  /// The plan in force, or null.
  static std::shared_ptr<Plan> current();

 private:
  struct Counts {
    std::uint64_t offered = 0;  ///< operations that the predicate was asked about
    std::uint64_t matched = 0;
    std::uint64_t triggered = 0;
    std::uint64_t elsewhere = 0;
    std::uint64_t too_short = 0;
    std::uint64_t random = 0;  ///< state of the rule's generator
    bool seen = false;         ///< a device that it names was enumerated or opened
    bool opened = false;       ///< such a device was opened
    bool able = false;         ///< such a device can be asked for an operation that the rule selects
  };

  void enter_force() override;
  void note_present(const DeviceProperties& properties) noexcept override;
  void reset() noexcept;
  bool is_open(const FaultRule& rule) const noexcept;
  bool triggers(const FaultRule& rule, Counts& counts) const noexcept;
  std::string why_never(const FaultRule& rule, const Counts& counts) const;

  const std::vector<FaultRule> rules_;
  const std::uint64_t seed_;
  std::atomic<bool> in_force_{false};
  std::atomic<std::uint64_t> installation_{0};
  std::atomic<std::uint64_t> begin_{0};  ///< when the window begins: detail::now() at installation
  mutable std::mutex mutex_;             ///< guards what follows; nothing foreign runs under it
  std::vector<Counts> counts_;
  std::vector<std::string> removed_;  ///< backend, side and name
};

}  // namespace pydoca::faulty

/// Faults on purpose: what devices do wrong, and when. Tests use them to show what a program does when its hardware
/// fails, and that the program's tests notice it.
#pragma once

#include "pydoca/device_properties.hpp"
#include "pydoca/status.hpp"
#include "pydoca/value.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)

namespace pydoca {

enum class FaultAction : std::uint8_t {
  fail,                  ///< it is not done, and ends with status; its queue breaks as hardware's do
  drop,                  ///< it is done, and its completion never comes: it ends when the context stops
  delay,                 ///< its completion, or the message, comes later, by a time
  duplicate,             ///< its effect comes twice, its completion once
  corrupt,               ///< it succeeds, and its data is wrong
  misreport_length,      ///< it succeeds, and only a part of it was moved, or is said to have been received
  misreport_capability,  ///< enumerations show other capabilities
  full,                  ///< its queue takes nothing: submit answers again
  lose_notification,     ///< its completion comes only with the next one of its queue, as the engine is not told
  remove_device,         ///< surprise removal, from this operation on
  link_down,             ///< RDMA and comch connections of the device break, and none can be made, for a time
  kill,                  ///< this process kills itself (SIGKILL)
  freeze,                ///< this process stops itself (SIGSTOP), until another process continues it
};
inline constexpr std::array<std::string_view, 13> fault_action_names{"fail",
                                                                     "drop",
                                                                     "delay",
                                                                     "duplicate",
                                                                     "corrupt",
                                                                     "misreport_length",
                                                                     "misreport_capability",
                                                                     "full",
                                                                     "lose_notification",
                                                                     "remove_device",
                                                                     "link_down",
                                                                     "kill",
                                                                     "freeze"};

/// What a device can be asked to do, by the names of the library and the task: "dma.memcpy", "rdma.write"; and
/// "rdma.connect", "comch.connect", "comch.receive", and "sync_event.wait": an engine goes to sleep until the event
/// changes.
std::span<const std::string> fault_opcodes() noexcept;

[[nodiscard]] constexpr std::string_view name_of(FaultAction action) noexcept {
  return fault_action_names[static_cast<std::size_t>(action)];
}

/// Whether the action can meet such an operation: a sync event's set, for example, has no completion to delay.
[[nodiscard]] bool can_meet(FaultAction action, std::string_view opcode) noexcept;

/// How data is wrong.
enum class Corruption : std::uint8_t {
  bit,    ///< one bit is flipped
  byte,   ///< one byte is stuck at a value
  stale,  ///< nothing was written
};
inline constexpr std::array<std::string_view, 3> corruption_names{"bit", "byte", "stale"};

/// An operation, as a rule's predicate sees it. Valid during the call.
struct FaultOperation {
  std::string_view opcode;
  std::string_view device;   ///< its name
  std::uint64_t length = 0;  ///< bytes that it is to move; 0 where it moves none
  std::uint64_t number = 0;  ///< counts those of which the predicate was asked, from 1
};

/// An action, and the operations that it meets. A rule selects operations by opcode, device, window and predicate; it
/// counts those, and meets all of them, or those that nth, every or probability name, up to times.
struct FaultRule {
  FaultAction action = FaultAction::fail;
  std::vector<std::string> opcodes{};  ///< those of fault_opcodes(); none: all that the action can meet
  /// A device's name, interface, ibdev name, PCI address, long or short, or VUID (serial); empty: every device.
  std::string device{};
  std::optional<Side> side{};  ///< absent: devices of both sides
  std::uint64_t nth = 0;       ///< the nth alone, from 1; 0: all
  std::uint64_t every = 0;     ///< every so many; 0: all
  double probability = 1.0;    ///< how likely each is met, drawn by the plan's seed
  std::uint64_t times = 0;     ///< how often at most; 0: without a limit
  /// The window, from install() on.
  std::chrono::nanoseconds after{0};
  std::chrono::nanoseconds until = std::chrono::nanoseconds::max();
  /// Called in the thread that posts the operation. Must not throw, nor use the engine.
  std::function<bool(const FaultOperation&)> when{};

  Status status = Status::io_failed;  ///< what fail reports
  /// How long delay delays, and how long link_down lasts; 0: link_down lasts until remove().
  std::chrono::nanoseconds by{0};
  Corruption corruption = Corruption::bit;
  std::optional<std::uint64_t> offset{};           ///< which byte corrupt changes; absent: any bit, or the first byte
  std::uint8_t value = 0xff;                       ///< the stuck byte's value, for corrupt
  std::optional<std::uint64_t> length{};           ///< most bytes that misreport_length reports; absent: half
  std::function<void(Capabilities&)> misreport{};  ///< misreport_capability changes a device's with it

  Table keys{};  ///< the keys that it was read from, by read_fault_rule()
};

/// The rule of a table, as in a file: the reference of pydoca.faults has the keys. The name of a library means all its
/// opcodes that the action can meet. Throws invalid_value for keys, words and units that do not exist, and for values
/// that do not fit.
[[nodiscard]] FaultRule read_fault_rule(const Table& keys);

/// "rule 2 (delay rdma.write of pf0)", of the second rule: number counts from 0.
[[nodiscard]] std::string describe(const FaultRule& rule, std::size_t number);

/// What became of a rule while its plan was in force.
struct FaultReport {
  std::uint64_t matched = 0;     ///< operations that it selected
  std::uint64_t triggered = 0;   ///< how many of those it met
  std::uint64_t impossible = 0;  ///< how many it left alone: data in another process's memory, or too few bytes
  std::string never;             ///< why it has met none, and what to change; empty when it has met one
};

/// Rules, and the seed of their random choices. While a plan is in force, the devices that this process opens and that
/// its rules concern have its faults. A device that was open before has none: opening the function again gives another
/// device. The same operations in the same order meet the same faults.
///
/// When several rules meet one operation the first of them acts. Dropped completions, and what a removed device had,
/// end with shutdown when their context stops, as a failed task makes it do.
///
/// Each fault is told to the log, at level info. Thread safety: every function may be called from any thread.
class FaultPlan : public std::enable_shared_from_this<FaultPlan> {
 public:
  /// Throws invalid_value, naming the rule, for values that do not fit or contradict one another.
  static std::shared_ptr<FaultPlan> create(std::vector<FaultRule> rules, std::uint64_t seed = 0);
  /// Loads a table with the keys seed and rule, which is a list of tables, or a file of TOML. Throws as create() and
  /// read_fault_rule() do, and what read_toml() throws; messages about a file begin with its name.
  static std::shared_ptr<FaultPlan> load(const Table& table);
  static std::shared_ptr<FaultPlan> load(const std::string& path);
  /// The plan of the file that the environment's PYDOCA_FAULTS names, put in force unless another one is. Null where it
  /// names none, and after the first call that did not throw. devices() and find_device() call this, and the plan ends
  /// with the program. Throws invalid_value, naming the variable.
  static std::shared_ptr<FaultPlan> load_environment();
  /// The one that is in force in this process, or null.
  static std::shared_ptr<FaultPlan> in_force();

  virtual ~FaultPlan() = default;
  FaultPlan(const FaultPlan&) = delete;
  FaultPlan& operator=(const FaultPlan&) = delete;

  /// Puts it in force, with counts at 0. Warns, in the log, of devices that it concerns and that are open, without its
  /// faults. Throws already_exist when a plan is in force.
  void install();
  /// The same without a warning, for callers to which open devices do not matter.
  void install_silently();
  /// Ends that: no rule meets an operation any more; what was dropped stays dropped. Warns, in the log, of rules that
  /// have met nothing. Does nothing when the plan is not in force.
  void remove() noexcept;
  /// The same without warnings, for callers that pass on what report() says. Returns whether it was in force.
  virtual bool leave_force() noexcept = 0;
  virtual bool is_in_force() const noexcept = 0;

  virtual const std::vector<FaultRule>& rules() const noexcept = 0;
  virtual std::uint64_t seed() const noexcept = 0;
  /// Whether a rule names this device, or every device.
  virtual bool concerns(const DeviceProperties& properties) const noexcept = 0;
  /// One report of each rule, since install().
  virtual std::vector<FaultReport> report() const = 0;

 protected:
  FaultPlan() = default;

 private:
  virtual void enter_force() = 0;
  /// The machine has that device, whether or not the program looks for it.
  virtual void note_present(const DeviceProperties& properties) noexcept = 0;
};

}  // namespace pydoca

#pragma GCC visibility pop

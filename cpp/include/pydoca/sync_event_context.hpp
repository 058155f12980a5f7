#pragma once

#include "pydoca/context.hpp"
#include "pydoca/status.hpp"
#include "pydoca/sync_event.hpp"
#include "pydoca/task.hpp"
#include "pydoca/task_traits.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace pydoca::library {
class SyncEventContext;
class SyncEventTask;
}  // namespace pydoca::library

#pragma GCC visibility push(default)

namespace pydoca {

/// The tasks of an asynchronous sync event, by DOCA's names (doca_sync_event_task_<name>).
enum class SyncEventOperation : std::uint8_t { get, notify_set, notify_add, wait_gt, wait_eq, wait_neq };
inline constexpr std::size_t num_sync_event_operations = 6;

namespace sync_event_operands {

inline constexpr Operand fetched{.name = "fetched", .type = OperandType::fetched};
inline constexpr Operand get[] = {fetched};
inline constexpr Operand notify_set[] = {{.name = "set_val", .type = OperandType::u64, .parameter = "value"}};
inline constexpr Operand notify_add[] = {{.name = "inc_val", .type = OperandType::u64, .parameter = "value"}, fetched};
inline constexpr Operand wait[] = {
    {.name = "wait_val", .type = OperandType::u64, .parameter = "value"},
    {.name = "mask", .type = OperandType::u64, .may_be_left_out = true, .standing = ~std::uint64_t{0}}};

}  // namespace sync_event_operands

/// The table is indexed by SyncEventOperation.
inline constexpr std::array<TaskTraits, num_sync_event_operations> sync_event_tasks{{
    {.name = "get", .operands = sync_event_operands::get, .answers_word = true},
    {.name = "notify_set", .operands = sync_event_operands::notify_set},
    {.name = "notify_add", .operands = sync_event_operands::notify_add, .answers_word = true},
    {.name = "wait_gt", .operands = sync_event_operands::wait},
    {.name = "wait_eq", .operands = sync_event_operands::wait},
    {.name = "wait_neq", .operands = sync_event_operands::wait},
}};

[[nodiscard]] constexpr const TaskTraits& traits_of(SyncEventOperation operation) noexcept {
  return sync_event_tasks[static_cast<std::size_t>(operation)];
}
/// "wait_eq" ...
[[nodiscard]] constexpr std::string_view name_of(SyncEventOperation operation) noexcept {
  return traits_of(operation).name;
}
/// The largest value that a wait_gt task waits for, and compares (DOCA Core Programming Guide up to 2.6: 0..254).
inline constexpr std::uint64_t max_wait_gt_value = 254;
/// Whether a wait task takes mask: 0, or 1, 2, 4 or 8 adjacent bytes of 0xFF, the others 0.
[[nodiscard]] bool is_wait_mask(std::uint64_t mask) noexcept;

/// One operation on an event (DOCA Core Programming Guide, sync event: doca_sync_event_task_<name>). get, notify_set
/// and notify_add are done when they are submitted, and completed by progress(). A wait ends when the masked value of
/// the event is greater than value(), equal to it, or not; its engine looks at the value whenever it progresses, and is
/// woken for it when it sleeps. A value that the event had only between two looks may be missed. wait_gt is the wait of
/// DOCA up to 2.6, and compares values up to max_wait_gt_value only. See Task for states, threads and ownership.
///
/// Failures: connection_reset (the process at the other end is gone), not_connected (the event's owner has stopped it),
/// shutdown (cancelled, or the context stopped), io_failed (a mask that is_wait_mask() refuses, or a wait_gt for a
/// value above max_wait_gt_value, for which try_submit() answers invalid_value; or a wait_gt that a masked value above
/// max_wait_gt_value meets, which result() then has), driver (the device was removed). io_failed and driver take the
/// context to stopping.
class SyncEventTask : public Task {
 public:
  SyncEventOperation operation() const noexcept { return operation_; }
  /// The value to set, to add or to wait for, as the operation has it.
  std::uint64_t value() const noexcept { return value_; }
  std::uint64_t mask() const noexcept { return mask_; }
  /// What a task that succeeded gives. get: the value. notify_add: the value before. A wait: the value that ended it.
  /// It has no meaning for notify_set.
  std::uint64_t result() const noexcept { return result_; }
  // These change the operands for another submission; in_use while submitted.
  Status set_value(std::uint64_t value) noexcept;
  Status set_mask(std::uint64_t mask) noexcept;
  /// Where else to store the result of get and notify_add, as DOCA does; null, as after allocate(): nowhere. The caller
  /// keeps the memory until the completion.
  Status set_result_address(std::uint64_t* address) noexcept;
  std::uint64_t* result_address() const noexcept { return address_; }

 protected:
  // library::SyncEventTask derives.
  SyncEventTask(SyncEventContext& context, detail::TaskPool& pool, SyncEventOperation operation) noexcept;
  ~SyncEventTask() override = default;

  const SyncEventOperation operation_;
  std::uint64_t value_ = 0;
  std::uint64_t mask_ = 0;
  std::uint64_t result_ = 0;
  std::uint64_t* address_ = nullptr;
};

/// A sync event in its asynchronous mode, from SyncEvent::as_context() (DOCA Core Programming Guide, sync event).
/// Starts at once, and only once: a context that has stopped can only be closed, which closes the event. Stopping ends
/// pending waits with shutdown. It holds the event. See Context for states, threads and ownership.
class SyncEventContext : public Context {
 public:
  /// Whether the device has this operation as a task: waits need a BlueField-3, a ConnectX-7 or newer.
  static bool is_supported(const DeviceInfo& info, SyncEventOperation operation) noexcept;
  /// The largest num_tasks of one operation. Throws not_supported when the device has no sync events.
  static std::uint32_t max_num_tasks(const DeviceInfo& info);

  /// The callbacks, which may be the same function, and the number of tasks of an operation
  /// (doca_sync_event_task_<name>_set_conf). One operation at least needs it before start(); repeatable. Throws
  /// not_permitted unless idle, as DOCA says, not_supported for a wait on a device without waits, invalid_value for a
  /// null callback and for num_tasks outside 1..max_num_tasks().
  void set_conf(SyncEventOperation operation, TaskCallback<SyncEventTask> on_success,
                TaskCallback<SyncEventTask> on_error, std::uint32_t num_tasks);
  std::uint32_t num_tasks(SyncEventOperation operation) const noexcept;  ///< what set_conf() set; 0 before

  /// Takes a task, which is not yet submitted (doca_sync_event_task_<name>_alloc_init). mask is for waits, value for
  /// all but get. bad_state unless running, no_memory when all tasks of the operation are taken or none are configured;
  /// task is then unchanged.
  Status allocate(SyncEventOperation operation, std::uint64_t value, std::uint64_t mask, std::uint64_t user_data,
                  SyncEventTask*& task) noexcept;

  /// Ends a pending wait: it completes with shutdown, by progress(), and the context runs on. DOCA has no such call.
  /// bad_state unless the task is a wait of this context that was submitted and has not ended.
  Status cancel(SyncEventTask& task) noexcept;

  const std::shared_ptr<SyncEvent>& event() const noexcept { return event_; }
  std::string_view kind() const noexcept override { return "sync event"; }

 protected:
  explicit SyncEventContext(std::shared_ptr<SyncEvent> event);

 private:
  const std::shared_ptr<SyncEvent> event_;
};

}  // namespace pydoca

#pragma GCC visibility pop

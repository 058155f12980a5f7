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

namespace pydoca {

/// The tasks of an asynchronous sync event, by DOCA's names (doca_sync_event_task_<name>).
enum class SyncEventOperation : std::uint8_t { get, notify_set, notify_add, wait_eq, wait_neq };
inline constexpr std::size_t num_sync_event_operations = 5;

/// By SyncEventOperation.
inline constexpr std::array<TaskTraits, num_sync_event_operations> sync_event_tasks{{
    {.name = "get", .operands = {Operand::fetched}, .answers_word = true},
    {.name = "notify_set", .operands = {Operand::set_val}},
    {.name = "notify_add", .operands = {Operand::inc_val, Operand::fetched}, .answers_word = true},
    {.name = "wait_eq", .operands = {Operand::wait_val, Operand::mask}},
    {.name = "wait_neq", .operands = {Operand::wait_val, Operand::mask}},
}};

[[nodiscard]] constexpr const TaskTraits& traits_of(SyncEventOperation operation) noexcept {
  return sync_event_tasks[static_cast<std::size_t>(operation)];
}
/// "wait_eq" ...
[[nodiscard]] constexpr std::string_view name_of(SyncEventOperation operation) noexcept {
  return traits_of(operation).name;
}
/// Whether a wait task takes mask: 0, or 1, 2, 4 or 8 adjacent bytes of 0xFF.
[[nodiscard]] bool is_wait_mask(std::uint64_t mask) noexcept;

/// One operation on an event. A wait is looked at whenever its engine progresses, and wakes an engine that sleeps; it
/// completes when the engine sees the value, so that a value that was there only between two looks may be missed.
class SyncEventTask : public Task {
 public:
  SyncEventOperation operation() const noexcept { return operation_; }
  /// set_val, inc_val or wait_val.
  std::uint64_t value() const noexcept { return value_; }
  std::uint64_t mask() const noexcept { return mask_; }
  /// get: the value. notify_add: the value before. wait: the value that ended it. Valid after success.
  std::uint64_t result() const noexcept { return result_; }
  // in_use while submitted.
  Status set_value(std::uint64_t value) noexcept;
  Status set_mask(std::uint64_t mask) noexcept;
  /// Where else to store the result of get and notify_add, as DOCA does; null: nowhere.
  Status set_result_address(std::uint64_t* address) noexcept;

 private:
  friend class library::SyncEventTask;
  SyncEventTask(SyncEventContext& context, detail::TaskPool& pool, SyncEventOperation operation) noexcept;
  ~SyncEventTask() override = default;

  const SyncEventOperation operation_;
  std::uint64_t value_ = 0;
  std::uint64_t mask_ = 0;
  std::uint64_t result_ = 0;
  std::uint64_t* address_ = nullptr;
};

/// A sync event in its asynchronous mode, from SyncEvent::as_context(); closing it closes the event. Starts at once;
/// stopping flushes pending waits with shutdown. A failed wait (the peer died: connection_reset; the owner stopped the
/// event: bad_state) leaves the context running. Belongs to its progress engine's thread; holds the event.
class SyncEventContext : public Context {
 public:
  /// Whether the device has tasks of this kind: waits need a BlueField-3, a ConnectX-7 or newer.
  static bool is_supported(const DeviceInfo& info, SyncEventOperation operation) noexcept;
  static std::uint32_t max_num_tasks(const DeviceInfo& info);

  /// doca_sync_event_task_<T>_set_conf; while idle (not_permitted otherwise, as DOCA says), repeatable. Throws
  /// not_supported for a wait on a device without it, invalid_value for num_tasks outside 1..max_num_tasks and missing
  /// callbacks.
  void set_conf(SyncEventOperation operation, Task::Callback on_success, Task::Callback on_error,
                std::uint32_t num_tasks);

  /// A task, not yet submitted. no_memory when all of its kind are out or none were configured, bad_state unless
  /// running. mask is for waits.
  [[nodiscard]] Status allocate(SyncEventOperation operation, std::uint64_t value, std::uint64_t mask,
                                std::uint64_t user_data, SyncEventTask*& task) noexcept;

  /// Ends a wait that is pending: it completes with shutdown, and the context runs on. (DOCA has no such call.)
  /// bad_state unless the task is a wait of this context's that has not ended.
  Status cancel(SyncEventTask& task) noexcept;

  const std::shared_ptr<SyncEvent>& event() const noexcept { return event_; }
  std::string_view kind() const noexcept override { return "sync event"; }

 protected:
  explicit SyncEventContext(std::shared_ptr<SyncEvent> event);

 private:
  const std::shared_ptr<SyncEvent> event_;
};

}  // namespace pydoca

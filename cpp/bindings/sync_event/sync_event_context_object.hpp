/// Python's SyncEventContext and its tasks.
#pragma once

#include <pydoca/sync_event_context.hpp>

#include "convert/parse.hpp"
#include "sync_event/sync_event_object.hpp"
#include "task/context_object.hpp"
#include "task/task_object.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace pydoca::bindings {

class SyncEventContextObject;

/// The operation that a call asks for, with its operands.
struct SyncEventRequest {
  SyncEventOperation operation{};
  std::uint64_t operand = 0;
  std::uint64_t mask = all_bits;
  py::handle number{};  ///< the operand as a Python object; null where that is not needed
};

class SyncEventTaskObject final : public TaskObject {
 public:
  SyncEventTaskObject(py::object context, SyncEventTask& slot);

  SyncEventOperation operation() const noexcept { return operation_; }
  std::uint64_t operand() const noexcept { return operand_; }
  std::uint64_t mask() const noexcept { return mask_; }
  /// Sets the operand of the next submission. Throws in_use in flight.
  void set_operand(std::uint64_t value);
  void set_mask(std::uint64_t mask);
  /// Prepares a task that no other code refers to.
  void prepare(const SyncEventRequest& request) noexcept;

  py::object value() const override;
  std::string describe() const override;
  bool lends_memory() const noexcept override { return false; }
  /// Throws bad_state unless it is a wait in flight.
  void cancel();
  /// Cancels a pending wait when no other await waits for it.
  void abandon() override;
  SyncEventObject& event() const;

 protected:
  std::size_t kind() const noexcept override { return static_cast<std::size_t>(operation_); }
  void completed(Status status) override;
  std::string explain_late() const override;
  void set_operands() override;
  void forget_operands() noexcept override {}

 private:
  SyncEventTask& event_slot() const { return static_cast<SyncEventTask&>(*slot()); }
  bool is_wait() const noexcept { return operation_ >= SyncEventOperation::wait_gt; }

  SyncEventOperation operation_;
  std::uint64_t operand_ = 0;
  std::uint64_t mask_ = 0;
  std::uint64_t result_ = 0;
  py::object awaited_;  ///< the int that a wait for this value ends with; null: another value, or not known
};

class SyncEventContextObject final : public ContextObject {
 public:
  /// num_tasks: an int, of each kind that the device has, or a dict of them by name.
  SyncEventContextObject(py::object engine, py::object event, const py::object& num_tasks, ContextOptions options);
  ~SyncEventContextObject() override;

  SyncEventContext& event_context() const noexcept { return static_cast<SyncEventContext&>(context()); }
  void set_conf(const std::string& operation, py::object on_completion, py::object on_error, py::handle num_tasks);
  const py::object& event_ref() const noexcept { return event_ref_; }
  SyncEventObject& event() const;
  /// A slot for the task of a request. Throws the reason when there is none.
  SyncEventTask& new_slot(const SyncEventRequest& request);

  void each_reference(References& references) override;

 protected:
  void closed() override;

 private:
  py::object event_ref_;
};

/// Throws invalid_value for an unknown name; the message has the nearest known name.
SyncEventOperation to_operation(const std::string& name);

}  // namespace pydoca::bindings

#pragma once

#include <pydoca/rdma.hpp>

#include "convert/pybind.hpp"
#include "task/library_task.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace pydoca::bindings {

/// The most operands that a kind of task has.
inline constexpr std::size_t max_rdma_operands =
    std::ranges::max(rdma_tasks, {}, [](const TaskTraits& traits) { return traits.operands.size(); }).operands.size();

/// What a call gives a task.
template <std::size_t count>
struct RdmaOperands {
  GivenOperands<count> given;
  py::object connection = py::none();
};

class RdmaTaskObject final : public LibraryTaskObject {
 public:
  RdmaTaskObject(py::object context, RdmaTask& slot);

  RdmaTaskKind task_kind() const noexcept { return kind_; }

  // These are of the last successful completion; None when that has no such value.
  py::object result_len() const;
  py::object result_opcode() const;
  py::object result_immediate_data() const;
  /// The connection that the task uses, or that a message came over.
  const py::object& connection() const noexcept { return connection_; }
  /// Sets the connection of another submission. Throws in_use in flight, TypeError for another class, invalid_value for
  /// a receive and for a connection of another context.
  void set_connection(py::object connection);

  /// Sets the operands of a task that no other code refers to. connection: None for a receive.
  template <std::size_t count>
  void prepare(RdmaOperands<count>&& operands) noexcept {
    connection_ = std::move(operands.connection);
    LibraryTaskObject::prepare(std::move(operands.given));
  }

  py::object value() const override;
  /// A receive waits without a limit. Giving up its await leaves it posted, and no message is lost.
  bool lends_memory() const noexcept override { return kind_ != RdmaTaskKind::receive; }
  bool may_be_dropped() const noexcept override;
  void each_reference(References& references) override;
  void clear() override;

 protected:
  void completed(Status status) override;
  void set_operands() override;

 private:
  RdmaTask& rdma_slot() const { return static_cast<RdmaTask&>(*slot()); }
  void set_remote_operands();
  /// The address of the eight bytes that are the task's result; null when they are not in this process's memory.
  const void* answer_place() const;

  const RdmaTaskKind kind_;
  py::object connection_ = py::none();
  OperandValue room_[max_rdma_operands];
  const void* answer_place_ = nullptr;
  bool succeeded_ = false;
  bool has_answer_ = false;
  std::uint64_t answer_ = 0;
  std::uint64_t result_len_ = 0;
  RdmaOpcode opcode_ = RdmaOpcode::recv_send;
  std::uint32_t immediate_ = 0;
};

}  // namespace pydoca::bindings

#pragma once

#include <pydoca/rdma.hpp>

#include "task/task_object.hpp"

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pydoca::bindings {

/// What a task of an Rdma context works with; None where its kind has nothing of the sort.
struct RdmaOperands {
  pybind11::object connection = pybind11::none();
  pybind11::object src = pybind11::none();
  pybind11::object dst = pybind11::none();
  pybind11::object result = pybind11::none();
  pybind11::object event = pybind11::none();
  std::uint64_t compare = 0;
  std::uint64_t operand = 0;    ///< what is added, or swapped in
  std::uint32_t immediate = 0;  ///< in this machine's byte order

  /// Throws TypeError for what is no Buf, no SyncEventRemoteNet.
  void require_types() const;
};

class RdmaTaskObject final : public TaskObject {
 public:
  RdmaTaskObject(pybind11::object context, RdmaTask& slot);

  RdmaTaskKind task_kind() const noexcept { return kind_; }
  const RdmaOperands& operands() const noexcept { return operands_; }
  /// Of a task that nobody else has.
  void prepare(RdmaOperands operands) noexcept { operands_ = std::move(operands); }
  /// For another submission; throws in_use in flight, invalid_value when the kind has no such operand.
  void set_buf(pybind11::object RdmaOperands::* which, pybind11::object buf, const char* name);
  void set_number(std::uint64_t RdmaOperands::* which, std::uint64_t value, const char* name);
  void set_immediate(std::uint32_t value);

  // Of the last successful completion; None where there is no such thing.
  pybind11::object result_len() const;
  pybind11::object result_opcode() const;
  pybind11::object result_immediate_data() const;
  /// The one that it goes over, or that a message came over.
  const pybind11::object& connection() const noexcept { return operands_.connection; }

  pybind11::object value() const override;
  std::string describe() const override;
  /// A receive waits for as long as it takes: giving up its await leaves it posted, and nothing that comes is lost.
  bool lends_memory() const noexcept override { return kind_ != RdmaTaskKind::receive; }
  bool may_be_dropped() const noexcept override;
  int traverse(visitproc visit, void* arg) const override;
  void clear() override;

 protected:
  std::size_t kind() const noexcept override { return static_cast<std::size_t>(kind_); }
  void completed(Status status) override;
  std::vector<const Buf*> lent_bufs() const override;
  void set_operands() override;
  void forget_operands() noexcept override;

 private:
  RdmaTask& rdma_slot() const { return static_cast<RdmaTask&>(*slot()); }
  void set_remote_operands();
  /// Where the eight bytes will be that the task answers; null when that is not this process's memory.
  const void* answer_place() const;

  const RdmaTaskKind kind_;
  RdmaOperands operands_;
  std::uint64_t length_ = 0;  ///< what is sent, for messages
  const void* answer_place_ = nullptr;
  bool succeeded_ = false;
  bool has_answer_ = false;
  std::uint64_t answer_ = 0;
  std::uint64_t result_len_ = 0;
  RdmaOpcode opcode_ = RdmaOpcode::recv_send;
  std::uint32_t immediate_ = 0;
};

}  // namespace pydoca::bindings

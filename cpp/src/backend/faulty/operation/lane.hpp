#pragma once

#include "pydoca/backend/queue.hpp"
#include "pydoca/segment.hpp"
#include "pydoca/status.hpp"

#include "backend/faulty/plan/opcodes.hpp"
#include "backend/faulty/plan/plan.hpp"

#include <cstdint>
#include <memory>

namespace pydoca::faulty {

/// A queue of the device that takes operations of one kind: a whole queue, or the sends of one queue pair.
template <class Operation>
class Lane {
 public:
  virtual Status pass_on(Operation& operation, bool flush) noexcept = 0;
  /// The device ends all other operations with shutdown, as one has failed on purpose.
  virtual void break_down() noexcept = 0;
  /// Breaks what the removal of the device, or of its link, has broken.
  virtual void follow_device() noexcept = 0;

  // What an operation of the lane is.
  virtual Opcode opcode_of(const Operation& operation) const noexcept = 0;
  /// What it fills on this side, and with how many bytes once it has succeeded; null when it fills nothing.
  virtual const Segment* target_of(const Operation& operation, std::uint64_t& filled) const noexcept = 0;
  /// The length to which a shorter operation is cut: one that the device takes.
  virtual std::uint64_t cut_length(const Operation& operation, std::uint64_t length) const noexcept = 0;
  /// Whether the device tells how many bytes an operation has moved; misreport() has it tell another number, and is
  /// false when the number is the same.
  virtual bool is_told_length(const Operation& operation) const noexcept = 0;
  virtual bool misreport(Operation& operation, const Fault& fault) const noexcept = 0;
  /// What the device told of an operation, beyond its status, becomes that of another one.
  virtual void take_answer(const Operation& from, Operation& to) const noexcept = 0;
  /// Another operation with the same request. Throws std::bad_alloc.
  virtual std::shared_ptr<Operation> copy_of(const Operation& operation) const = 0;

  bool ordered = false;        ///< completions come in the order of posting
  bool is_fragile = true;      ///< an operation that fails breaks it
  bool broken = false;         ///< what is posted ends with shutdown
  std::uint64_t posted = 0;    ///< operations that the device took
  std::uint64_t returned = 0;  ///< operations that the device gave back
  /// The status of the first operation that the break ends, instead of shutdown: why it broke.
  Status reason = Status::shutdown;

 protected:
  ~Lane() = default;
};

}  // namespace pydoca::faulty

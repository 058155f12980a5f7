#pragma once

#include "pydoca/backend/queue.hpp"
#include "pydoca/status.hpp"

#include <cstdint>

namespace pydoca::faulty {

/// A queue of the device that takes operations of one kind: a whole queue, or the sends of one queue pair.
template <class Operation>
class Lane {
 public:
  virtual Status pass_on(Operation& operation, bool flush) noexcept = 0;
  /// After an operation has failed on purpose: the device ends all others with shutdown.
  virtual void break_down() noexcept = 0;
  /// Breaks what the removal of the device, or of its link, has broken.
  virtual void follow_device() noexcept = 0;

  bool ordered = false;        ///< completions come in the order of posting
  bool is_fragile = true;      ///< an operation that fails breaks it
  bool broken = false;         ///< what is posted ends with shutdown
  std::uint64_t posted = 0;    ///< that the device took
  std::uint64_t returned = 0;  ///< that the device gave back
  /// The status of the first operation that the break ends, instead of shutdown: why it broke.
  Status reason = Status::shutdown;

 protected:
  ~Lane() = default;
};

}  // namespace pydoca::faulty

#pragma once

#include "pydoca/device.hpp"

#include <cstdint>
#include <string>

namespace pydoca::detail {

/// The limits that a task's operands can break.
enum class Limit : std::uint8_t {
  none,              ///< nothing is broken
  missing,           ///< the operand was not given
  not_first,         ///< the operand is a later element of a list
  list_length,       ///< value: the list's elements
  not_on_device,     ///< the operand's memory map was not added to the context's device
  not_local,         ///< the operand lies in the memory of another process
  no_data,           ///< the source is empty
  size,              ///< value: the source's bytes
  room,              ///< value: the source's bytes; allowed: the tailroom of the operand
  digest_room,       ///< setting: the algorithm; value: the tailroom; allowed: the bytes of a digest
  algorithm,         ///< setting: the algorithm
  piece_length,      ///< setting: the algorithm; value: the bytes of a piece that is not the last; allowed: a block's
  message_end,       ///< the message has its digest
  answer_room,       ///< value: the tailroom for the 8 bytes of an answer
  event_value,       ///< value: the source's bytes, which must be 8
  word_length,       ///< value: the bytes from the operand's data on, of which an atomic changes 8
  word_address,      ///< value: the address of an atomic
  wait_mask,         ///< value: the mask
  wait_value,        ///< value: what a wait_gt task waits for, or has met
  message_length,    ///< value: the message's bytes
  other_connection,  ///< the connection is another context's, or has ended
  closed_event,
};

/// The first limit that a task's operands break, with the numbers that its explanation needs.
struct Violation {
  Limit limit = Limit::none;
  const char* operand = "";   ///< "src", as DOCA's setters name it
  const char* setting = "";   ///< what sets the limit: a capability, or a setting of the context
  std::uint64_t value = 0;    ///< what was given
  std::uint64_t allowed = 0;  ///< what the limit is
};

/// For a check that has found violation: notes it where why is not null.
Limit broken(Violation* why, const Violation& violation) noexcept;

/// One sentence that names the operand, the limit and the values, and says what to do. Of no violation: that the
/// device refuses the task for a reason of its own.
std::string explain(const Violation& violation, const DeviceInfo& device);

/// Of an operation, a message or a change that failed: what a fault plan's rule, counted from 1, has to do with it.
std::string explain_fault(std::uint32_t rule);

/// What a fatal error of the device's driver means, and what to do.
std::string explain_driver_failure(const Device& device);

}  // namespace pydoca::detail

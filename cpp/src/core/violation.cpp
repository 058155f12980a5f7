#include "core/violation.hpp"

#include "detail/concat.hpp"

namespace pydoca::detail {

namespace {

std::string bytes(std::uint64_t count) { return concat(count, count == 1 ? " byte" : " bytes"); }

}  // namespace

// Not inline, so that checks which find nothing stay short.
Limit broken(Violation* why, const Violation& violation) noexcept {
  if (why != nullptr) {
    *why = violation;
  }
  return violation.limit;
}

// One sentence for each limit.
// NOLINTNEXTLINE(readability-function-size)
std::string explain(const Violation& violation, const DeviceInfo& device) {
  const auto& [limit, operand, setting, value, allowed] = violation;
  switch (limit) {
    case Limit::none:
      return concat(device.name(), " refuses the task for a reason that only its driver knows");
    case Limit::missing:
      return concat(operand, " is missing; set it before the task is submitted");
    case Limit::not_first:
      return concat(operand, " is a later element of a list; give the list's first");
    case Limit::list_length:
      return concat(operand, " is a list of ", value, " bufs, and ", setting, " is ", allowed);
    case Limit::not_on_device:
      return concat(operand, " lies in a memory map that ", device.name(),
                    " was not added to; map the memory with that device");
    case Limit::not_local:
      return concat(operand, " lies in the memory of another process, and ", device.name(),
                    " does this in memory of its own; map memory of this process");
    case Limit::no_data:
      return concat(operand, " has no data; set its data section");
    case Limit::size:
      return concat(operand, " has ", bytes(value), " of data, and ", device.name(), " takes at most ", allowed,
                    " in one task (", setting, ")");
    case Limit::room:
      return concat("src has ", bytes(value), " of data, and ", operand, " has ", bytes(allowed), " of tailroom");
    case Limit::digest_room:
      return concat(operand, " has ", bytes(value), " of tailroom, and a digest of ", setting, " has ", allowed);
    case Limit::algorithm:
      return concat(device.name(), " does not compute ", setting, "; use another algorithm");
    case Limit::piece_length:
      return concat(operand, " has ", bytes(value), " of data; every piece but the last has a multiple of ", allowed,
                    " with ", setting, "; call set_is_final_buf() before the last");
    case Limit::message_end:
      return "the message has ended, and its digest is in dst; reset() begins another";
    case Limit::answer_room:
      return concat(operand, " has ", bytes(value), " of tailroom, and 8 bytes are answered");
    case Limit::event_value:
      return concat(operand, " has ", bytes(value), " of data, and a sync event's value has 8");
    case Limit::word_length:
      return concat(operand, " has ", bytes(value), " from its data on, and an atomic changes 8");
    case Limit::word_address:
      return concat(operand, "'s data is at ", hex(value), ", and an atomic's 8 bytes begin at a multiple of 8");
    case Limit::wait_mask:
      return concat("mask must be 0, or 1, 2, 4 or 8 adjacent bytes of 0xFF, and is ", hex(value));
    case Limit::wait_value:
      return concat(operand, " is ", value, ", and wait_gt tasks compare values up to ", allowed,
                    "; wait with wait_eq or wait_neq");
    case Limit::message_length:
      return concat("the message has ", bytes(value), "; this connection takes up to ", allowed, " (", setting, ")");
    case Limit::other_connection:
      return "the connection is another context's; use one of this context";
    case Limit::closed_event:
      return "the sync event is closed; import another";
  }
  return {};
}

std::string explain_fault(std::uint32_t rule) { return concat("the fault plan's rule ", rule, " failed it"); }

std::string explain_driver_failure(const Device& device) {
  return device.removed() ? "the device was removed; open it again when it is back"
                          : concat("the driver of ", device.info().name(),
                                   " reported a fatal error, of the operation or of a queue of its context, and the "
                                   "device is still there; stop the context and start it again, or open the device "
                                   "anew");
}

}  // namespace pydoca::detail

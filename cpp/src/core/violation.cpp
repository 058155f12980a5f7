#include "core/violation.hpp"

#include "detail/concat.hpp"

namespace pydoca::detail {

// Not inline, so that checks which find nothing stay short.
bool broken(Violation* why, const Violation& violation) noexcept {
  if (why != nullptr) {
    *why = violation;
  }
  return true;
}

std::string explain(const Violation& violation, const DeviceInfo& device) {
  return violation.limit != nullptr
             ? violation.limit(violation, device)
             : concat(device.name(), " refuses the task for a reason that only its driver knows");
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

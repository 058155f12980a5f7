#include "library/data_task.hpp"

#include "library/memory_access.hpp"

namespace pydoca::detail {

std::string and_context_stops(std::string_view reason) {
  return concat(reason, "; the context stops: start it again once it is idle");
}

std::string explain_faulty_data(std::uint32_t rule) { return and_context_stops(explain_fault(rule)); }

std::string explain_failed_data(const Violation& violation, const Buf* src, const Buf* dst, const Device& device) {
  std::string reason;
  if (violation.limit != nullptr) {
    reason = explain(violation, device.info());
  } else {
    reason = explain_access("src", src, device, Use::reads, Access::pci_read_only);
    if (reason.empty()) {
      reason = explain_access("dst", dst, device, Use::writes, Access::pci_read_write);
    }
    if (reason.empty()) {
      reason = concat(device.info().name(), " could not reach the memory of src or dst");
    }
  }
  return and_context_stops(reason);
}

std::string explain_failed_data(const Violation& violation, const char* operand, const Buf* buf, const Device& device) {
  const std::string reason = violation.limit == nullptr
                                 ? explain_access(operand, buf, device, Use::reads, Access::pci_read_only)
                                 : std::string();
  return and_context_stops(reason.empty() ? explain(violation, device.info()) : reason);
}

}  // namespace pydoca::detail

#include "library/data_task.hpp"

#include "library/memory_access.hpp"

namespace pydoca::detail {

namespace {

constexpr std::string_view what_follows = "; the context stops: start it again once it is idle";

}  // namespace

std::string explain_faulty_data(std::uint32_t rule) { return concat(explain_fault(rule), what_follows); }

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
  return concat(reason, what_follows);
}

}  // namespace pydoca::detail

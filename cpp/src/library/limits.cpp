#include "library/limits.hpp"

#include "detail/concat.hpp"

namespace pydoca::detail::limits {

std::string missing(const Violation& violation, const DeviceInfo& /*device*/) {
  return concat(violation.operand, " is missing; set it before the task is submitted");
}

std::string not_first(const Violation& violation, const DeviceInfo& /*device*/) {
  return concat(violation.operand, " is a later element of a list; give the list's first");
}

std::string given_back(const Violation& violation, const DeviceInfo& /*device*/) {
  return concat(violation.operand, " was given back before the submission; keep a reference until the completion");
}

std::string list_length(const Violation& violation, const DeviceInfo& /*device*/) {
  return concat(violation.operand, " is a list of ", violation.value, " bufs, and ", violation.setting, " is ",
                violation.allowed);
}

std::string not_on_device(const Violation& violation, const DeviceInfo& device) {
  return concat(violation.operand, " lies in a memory map that ", device.name(),
                " was not added to; map the memory with that device");
}

std::string no_data(const Violation& violation, const DeviceInfo& /*device*/) {
  return concat(violation.operand, " has no data; set its data section");
}

std::string size(const Violation& violation, const DeviceInfo& device) {
  return concat(violation.operand, " has ", bytes(violation.value), " of data, and ", device.name(), " takes at most ",
                violation.allowed, " in one task (", violation.setting, ")");
}

std::string room(const Violation& violation, const DeviceInfo& /*device*/) {
  return concat("src has ", bytes(violation.value), " of data, and ", violation.operand, " has ",
                bytes(violation.allowed), " of tailroom");
}

std::string bytes(std::uint64_t count) { return concat(count, count == 1 ? " byte" : " bytes"); }

}  // namespace pydoca::detail::limits

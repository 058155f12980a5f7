#include "device/find_device.hpp"

#include <pydoca/device_properties.hpp>
#include <pydoca/status.hpp>

#include "convert/convert.hpp"
#include "convert/parse.hpp"
#include "convert/python.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pydoca::bindings {

namespace {

const Capability& find_known(const std::string& capability) {
  std::vector<std::string_view> known;
  for (const Capability& one : capabilities()) {
    if (one.name == capability) return one;
    known.push_back(one.name);
  }
  refuse_word("capability", capability, known);
}

/// The fault plan that PYDOCA_FAULTS names is put in force by pydoca.faults, whose warnings are Python's.
void load_fault_plan() {
  const char* const file = std::getenv("PYDOCA_FAULTS");
  if (file != nullptr && *file != '\0') from_python("load_faults_of_environment")();
}

DeviceInfo find_by_predicate(const py::object& predicate, std::optional<Side> side) {
  require_plain_function("selector", predicate);
  return find_device([&](const DeviceInfo& info) { return py::bool_(predicate(info)).cast<bool>(); }, side);
}

DeviceInfo select(const py::object& selector, std::optional<Side> side) {
  if (py::isinstance<py::str>(selector)) return find_device(to_utf8(selector), side);
  if (py::isinstance<DeviceInfo>(selector)) {
    auto info = selector.cast<DeviceInfo>();
    if (!side || info.properties().side == *side) return info;
    raise(Status::not_found, format_text("{} is on side {}, not {}", info.name(),
                                         to_str(to_text(info.properties().side)), to_str(to_text(*side))));
  }
  if (PyCallable_Check(selector.ptr()) != 0) return find_by_predicate(selector, side);
  throw py::type_error(
      format_text("a device is selected by a str, a DeviceInfo or a callable, not by {}", type_name(selector)));
}

/// Lists each reason once, as in "; p0, p1: it has no DMA engine".
std::string reasons(const Capability& capability, std::optional<Side> side) {
  std::vector<std::pair<std::string, std::string>> groups;  // a reason, and the functions that have it
  for (const DeviceInfo& info : visible_devices(side)) {
    const std::string reason = capability.of(info).reason;
    const auto known = std::ranges::find(groups, reason, &std::pair<std::string, std::string>::first);
    if (known == groups.end()) {
      groups.emplace_back(reason, info.name());
    } else {
      known->second += ", " + info.name();
    }
  }
  std::string text;
  for (const auto& [reason, names] : groups) text.append("; ").append(names).append(": ").append(reason);
  return text;
}

DeviceInfo find_capable(const Capability& capability, std::optional<Side> side) {
  try {
    return find_device([&](const DeviceInfo& info) { return capability.of(info).supported; }, side);
  } catch (const Error& error) {
    if (error.status() != Status::not_found) throw;
    const char* const backend = std::getenv("PYDOCA_BACKEND");
    const std::string limit =
        backend != nullptr && *backend != '\0' ? std::string("; PYDOCA_BACKEND limits them to ") + backend : "";
    raise(Status::not_found, std::string(error.what()) + "; the required capability is " +
                                 std::string(capability.name) + limit + reasons(capability, side));
  }
}

}  // namespace

std::vector<DeviceInfo> visible_devices(std::optional<Side> side) {
  load_fault_plan();
  std::vector<DeviceInfo> infos = devices();
  if (side) std::erase_if(infos, [&](const DeviceInfo& info) { return info.properties().side != *side; });
  return infos;
}

DeviceInfo find_requested(const DeviceRequest& request) {
  const Capability* const capability = request.capability ? &find_known(*request.capability) : nullptr;
  load_fault_plan();
  if (request.selector.is_none()) {
    return capability != nullptr ? find_capable(*capability, request.side)
                                 : find_device([](const DeviceInfo&) { return true; }, request.side);
  }
  DeviceInfo info = select(request.selector, request.side);
  if (capability != nullptr) {
    if (const Support support = capability->of(info); !support) {
      raise(Status::not_supported, format_text("{} ({}) has no capability {!r}: {}", info.name(), info.pci_addr(),
                                               *request.capability, support.reason));
    }
  }
  return info;
}

Support support_of(const DeviceInfo& info, const std::string& capability) { return find_known(capability).of(info); }

}  // namespace pydoca::bindings

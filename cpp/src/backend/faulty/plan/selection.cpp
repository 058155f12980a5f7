#include "backend/faulty/plan/selection.hpp"

#include "pydoca/device_properties.hpp"

#include "detail/concat.hpp"
#include "detail/text/enumerators.hpp"

#include <algorithm>

namespace pydoca {

namespace faulty {

namespace {

using detail::concat;

template <class... Pieces>
[[noreturn]] void refuse(const FaultRule& rule, std::size_t number, const Pieces&... why) {
  throw Error(Status::invalid_value, concat("fault plan, ", describe(rule, number), ": ", why...));
}

std::string meetable(FaultAction action) {
  std::vector<std::string> names(opcode_names().begin(), opcode_names().end());
  std::erase_if(names, [&](const std::string& name) { return !can_meet(action, name); });
  return detail::listed(names);
}

void check_opcodes(const FaultRule& rule, std::size_t number) {
  if (rule.action == FaultAction::misreport_capability && !rule.opcodes.empty()) {
    refuse(rule, number, "an enumeration has no opcode; leave it out");
  }
  for (const std::string& opcode : rule.opcodes) {
    if (!find_opcode(opcode).has_value()) {
      refuse(rule, number, "\"", opcode, "\" is not an opcode; ", name_of(rule.action),
             " can happen to: ", meetable(rule.action));
    }
    if (!can_meet(rule.action, opcode)) {
      refuse(rule, number, name_of(rule.action), " cannot happen to ", opcode, "; it can to: ", meetable(rule.action));
    }
  }
}

void check_choice(const FaultRule& rule, std::size_t number) {
  const bool is_probability = rule.probability >= 0 && rule.probability <= 1;  // false also for NaN
  if (!is_probability) {
    refuse(rule, number, "probability is ", rule.probability, "; it must be in 0..1");
  }
  if (rule.nth != 0 && rule.every != 0) {
    refuse(rule, number, "nth is ", rule.nth, " and every is ", rule.every, "; give one of them");
  }
  if (rule.nth != 0 && rule.times > 1) {
    refuse(rule, number, "nth names one operation, and times is ", rule.times, "; leave one of them out");
  }
  if (rule.after.count() < 0 || rule.until <= rule.after) {
    refuse(rule, number, "the window from ", rule.after.count(), " ns (after) to ", rule.until.count(),
           " ns (until) is empty; until must be later than after, and after not negative");
  }
  const bool chooses = rule.nth != 0 || rule.every != 0 || rule.times != 0 || rule.probability != 1 || rule.when;
  if (rule.action == FaultAction::misreport_capability && chooses) {
    refuse(rule, number, "every enumeration in the window shows it; leave out nth, every, times, probability and when");
  }
}

void check_parameters(const FaultRule& rule, std::size_t number) {
  switch (rule.action) {
    case FaultAction::fail:
      if (rule.status == Status::success || rule.status == Status::again || rule.status == Status::in_progress ||
          static_cast<std::uint32_t>(rule.status) >= status_count) {
        refuse(rule, number, "status ", rule.status, " is not a failure",
               rule.status == Status::again ? "; use the action full" : "; give an error, such as io_failed");
      }
      break;
    case FaultAction::delay:
      if (rule.by.count() <= 0) {
        refuse(rule, number, "by is ", rule.by.count(), " ns; give the time of the delay, which must be positive");
      }
      break;
    case FaultAction::link_down:
      if (rule.by.count() < 0) {
        refuse(rule, number, "by is ", rule.by.count(), " ns; a time is not negative");
      }
      break;
    case FaultAction::misreport_capability:
      if (!rule.misreport) {
        refuse(rule, number, "there are no capabilities to show");
      }
      break;
    default:
      break;
  }
}

bool is_message(Opcode opcode) noexcept {
  return opcode == number_of(RdmaTaskKind::receive) || opcode == number_of(LinkOpcode::comch_send) ||
         opcode == number_of(LinkOpcode::comch_receive);
}

void check_corruption(const FaultRule& rule, std::size_t number) {
  if (!detail::is_one_of(rule.corruption, Corruption::stale)) {
    refuse(rule, number, static_cast<unsigned>(rule.corruption), " is not a corruption; give bit, byte or stale");
  }
  if (rule.action != FaultAction::corrupt || rule.corruption != Corruption::stale) {
    return;
  }
  if (rule.offset.has_value()) {
    refuse(rule, number, "stale data has no offset: nothing is written; leave one of them out");
  }
  for (const std::string& opcode : rule.opcodes) {
    if (is_message(*find_opcode(opcode))) {
      refuse(rule, number, "a message of ", opcode, " cannot be stale; drop it, or corrupt a bit or a byte");
    }
  }
}

}  // namespace

void check(const std::vector<FaultRule>& rules) {
  for (std::size_t number = 0; number < rules.size(); ++number) {
    const FaultRule& rule = rules[number];
    if (static_cast<std::size_t>(rule.action) >= fault_action_names.size()) {
      throw Error(Status::invalid_value, concat("fault plan, rule ", number + 1, ": ",
                                                static_cast<unsigned>(rule.action), " is not an action"));
    }
    check_opcodes(rule, number);
    check_choice(rule, number);
    check_parameters(rule, number);
    check_corruption(rule, number);
  }
}

bool selects(const FaultRule& rule, Opcode opcode) noexcept {
  if (rule.opcodes.empty()) {
    const bool is_stale = rule.action == FaultAction::corrupt && rule.corruption == Corruption::stale;
    return meetings(rule.action)[static_cast<std::size_t>(opcode)] && !(is_stale && is_message(opcode));
  }
  return std::ranges::find(rule.opcodes, name_of(opcode)) != rule.opcodes.end();
}

bool names(const FaultRule& rule, const DeviceProperties& properties) noexcept {
  if (rule.side.has_value() && *rule.side != properties.side) {
    return false;
  }
  if (rule.device.empty()) {
    return true;
  }
  for (const std::string* const name :
       {&properties.name, &properties.iface_name, &properties.ibdev_name, &properties.vuid, &properties.pci_addr}) {
    if (*name == rule.device) {
      return true;
    }
  }
  const std::string_view addr = properties.pci_addr;
  return addr.size() == rule.device.size() + 5 && addr.starts_with("0000:") && addr.substr(5) == rule.device;
}

}  // namespace faulty

std::string describe(const FaultRule& rule, std::size_t number) {
  std::string text = detail::concat("rule ", number + 1, " (", name_of(rule.action));
  for (const std::string& opcode : rule.opcodes) {
    text += detail::concat(" ", opcode);
  }
  text += rule.device.empty() ? "" : detail::concat(" of ", rule.device);
  if (rule.side.has_value()) {
    text += *rule.side == Side::host ? " on the host" : " on the DPU";
  }
  return text + ")";
}

}  // namespace pydoca

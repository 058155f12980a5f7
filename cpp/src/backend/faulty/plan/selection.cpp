#include "backend/faulty/plan/selection.hpp"

#include "detail/concat.hpp"

#include <algorithm>
#include <initializer_list>

namespace pydoca {

namespace {

using faulty::num_opcodes;

/// Opcodes, of which there are as many as the table of their names has.
class OpcodeSet {
 public:
  constexpr OpcodeSet(std::initializer_list<FaultOpcode> opcodes) noexcept {
    for (const FaultOpcode opcode : opcodes) {
      has_[static_cast<std::size_t>(opcode)] = true;
    }
  }

  constexpr bool has(FaultOpcode opcode) const noexcept { return has_[static_cast<std::size_t>(opcode)]; }

  friend constexpr OpcodeSet operator|(OpcodeSet one, const OpcodeSet& other) noexcept {
    for (std::size_t number = 0; number < num_opcodes; ++number) {
      one.has_[number] = one.has_[number] || other.has_[number];
    }
    return one;
  }
  friend constexpr OpcodeSet operator-(OpcodeSet one, const OpcodeSet& without) noexcept {
    for (std::size_t number = 0; number < num_opcodes; ++number) {
      one.has_[number] = one.has_[number] && !without.has_[number];
    }
    return one;
  }
  /// All from the first to the last.
  static constexpr OpcodeSet range(FaultOpcode first, FaultOpcode last) noexcept {
    OpcodeSet set{};
    for (auto number = static_cast<std::size_t>(first); number <= static_cast<std::size_t>(last); ++number) {
      set.has_[number] = true;
    }
    return set;
  }

 private:
  std::array<bool, num_opcodes> has_{};
};

using enum FaultOpcode;

constexpr OpcodeSet data{dma_copy, sha_digest, sha_partial_digest};
constexpr OpcodeSet queued =
    data | OpcodeSet{cache_invalidate} | OpcodeSet::range(rdma_receive, rdma_remote_net_sync_event_notify_add);
constexpr OpcodeSet connects{rdma_connect, comch_connect};
constexpr OpcodeSet messages{comch_send, comch_receive};
constexpr OpcodeSet updates{sync_event_set, sync_event_add};
constexpr OpcodeSet everything = OpcodeSet::range(FaultOpcode{}, static_cast<FaultOpcode>(num_opcodes - 1));

/// By FaultAction.
constexpr std::array<OpcodeSet, fault_action_names.size()> meetings{
    queued | connects | messages | updates,
    queued | messages | updates,
    queued | messages,
    (queued | messages | updates) - OpcodeSet{rdma_receive},
    data | OpcodeSet::range(rdma_receive, rdma_remote_net_sync_event_get) | messages | updates,
    data | OpcodeSet::range(rdma_receive, rdma_write_imm) | messages,
    OpcodeSet{},
    queued | OpcodeSet{comch_send},
    queued | OpcodeSet{comch_receive, sync_event_wait},
    everything,
    everything,
    everything,
    everything,
};

}  // namespace

bool can_meet(FaultAction action, FaultOpcode opcode) noexcept {
  return meetings[static_cast<std::size_t>(action)].has(opcode);
}

namespace faulty {

namespace {

using detail::concat;

template <class... Pieces>
[[noreturn]] void refuse(const FaultRule& rule, std::size_t number, const Pieces&... why) {
  throw Error(Status::invalid_value, concat("fault plan, ", describe(rule, number), ": ", why...));
}

std::string meetable(FaultAction action) {
  std::string text;
  for (std::size_t number = 0; number < num_opcodes; ++number) {
    if (can_meet(action, static_cast<FaultOpcode>(number))) {
      text += concat(text.empty() ? "" : ", ", fault_opcode_names[number]);
    }
  }
  return text;
}

void check_opcodes(const FaultRule& rule, std::size_t number) {
  if (rule.action == FaultAction::misreport_capability && !rule.opcodes.empty()) {
    refuse(rule, number, "an enumeration has no opcode; leave it out");
  }
  for (const FaultOpcode opcode : rule.opcodes) {
    if (static_cast<std::size_t>(opcode) >= num_opcodes) {
      refuse(rule, number, static_cast<unsigned>(opcode), " is not an opcode");
    }
    if (!can_meet(rule.action, opcode)) {
      refuse(rule, number, name_of(rule.action), " cannot happen to ", name_of(opcode),
             "; it can to: ", meetable(rule.action));
    }
  }
}

void check_choice(const FaultRule& rule, std::size_t number) {
  const bool is_probability = rule.probability >= 0 && rule.probability <= 1;  // not of what is not a number
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

void check_corruption(const FaultRule& rule, std::size_t number) {
  if (rule.action != FaultAction::corrupt || rule.corruption != Corruption::stale) {
    return;
  }
  if (rule.offset.has_value()) {
    refuse(rule, number, "stale data has no offset: nothing is written; leave one of them out");
  }
  for (const FaultOpcode opcode : rule.opcodes) {
    if (opcode == FaultOpcode::rdma_receive || opcode == FaultOpcode::comch_send ||
        opcode == FaultOpcode::comch_receive) {
      refuse(rule, number, "a message of ", name_of(opcode), " cannot be stale; drop it, or corrupt a bit or a byte");
    }
  }
}

std::string_view library_of(FaultOpcode opcode) noexcept {
  const std::string_view name = name_of(opcode);
  return name.substr(0, name.find('.'));
}

}  // namespace

std::size_t first_opcode_of(const backend::EngineTraits& engine) noexcept {
  const std::string name = concat(engine.name, ".", engine.opcodes.front().name);
  return static_cast<std::size_t>(std::ranges::find(fault_opcode_names, name) - fault_opcode_names.begin());
}

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

bool selects(const FaultRule& rule, FaultOpcode opcode) noexcept {
  const bool stale_message = rule.action == FaultAction::corrupt && rule.corruption == Corruption::stale &&
                             (opcode == FaultOpcode::rdma_receive || opcode == FaultOpcode::comch_send ||
                              opcode == FaultOpcode::comch_receive);
  if (rule.opcodes.empty()) {
    return can_meet(rule.action, opcode) && !stale_message;
  }
  return std::ranges::find(rule.opcodes, opcode) != rule.opcodes.end();
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

bool can_do(const Capabilities& can, FaultOpcode opcode) noexcept {
  const std::string_view library = library_of(opcode);
  if (library == "dma") {
    return can.dma.has_value();
  }
  if (library == "sha") {
    return can.sha.has_value();
  }
  if (library == "mmap_advise") {
    return can.mmap_advise.has_value();
  }
  if (library == "rdma") {
    return can.rdma.has_value();
  }
  if (library == "comch") {
    return can.comch.has_value() && (can.comch->server || can.comch->client);
  }
  return can.sync_event.has_value();
}

}  // namespace faulty

std::string describe(const FaultRule& rule, std::size_t number) {
  std::string text = detail::concat("rule ", number + 1, " (", name_of(rule.action));
  for (const FaultOpcode opcode : rule.opcodes) {
    if (static_cast<std::size_t>(opcode) < fault_opcode_names.size()) {
      text += detail::concat(" ", name_of(opcode));
    }
  }
  text += rule.device.empty() ? "" : detail::concat(" of ", rule.device);
  if (rule.side.has_value()) {
    text += *rule.side == Side::host ? " on the host" : " on the DPU";
  }
  return text + ")";
}

}  // namespace pydoca

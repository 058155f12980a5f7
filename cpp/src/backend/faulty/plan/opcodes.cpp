#include "backend/faulty/plan/opcodes.hpp"

#include "pydoca/device_properties.hpp"
#include "pydoca/rdma_tasks.hpp"

#include "detail/concat.hpp"
#include "detail/never_destroyed.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace pydoca::faulty {

namespace {

using detail::concat;

constexpr std::array<std::string_view, num_link_opcodes - num_rdma_task_kinds> other_link_names{
    "rdma.connect",   "comch.send",     "comch.receive",  "comch.connect",
    "sync_event.set", "sync_event.add", "sync_event.wait"};

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const backend::EngineTraits* const engine : backend::engines()) {
    for (const backend::OpcodeTraits& opcode : engine->opcodes) {
      names.push_back(concat(engine->name, ".", opcode.name));
    }
  }
  for (const TaskTraits& task : rdma_tasks) {
    names.push_back(concat("rdma.", task.name));
  }
  names.insert(names.end(), other_link_names.begin(), other_link_names.end());
  return names;
}

std::size_t count_engine_opcodes() noexcept { return opcode_names().size() - num_link_opcodes; }

/// Engines' operations: all, or only those that move data.
OpcodeSet of_engines(bool movers_only) noexcept {
  OpcodeSet set;
  std::size_t number = 0;
  for (const backend::EngineTraits* const engine : backend::engines()) {
    for (const backend::OpcodeTraits& opcode : engine->opcodes) {
      set[number++] = opcode.moves_data || !movers_only;
    }
  }
  return set;
}

OpcodeSet of_links(std::initializer_list<LinkOpcode> opcodes) noexcept {
  OpcodeSet set;
  for (const LinkOpcode opcode : opcodes) {
    set.set(static_cast<std::size_t>(number_of(opcode)));
  }
  return set;
}

/// RDMA's tasks from the first to the last.
OpcodeSet of_rdma_tasks(RdmaTaskKind first, RdmaTaskKind last) noexcept {
  OpcodeSet set;
  for (auto number = static_cast<std::size_t>(number_of(first)); number <= static_cast<std::size_t>(number_of(last));
       ++number) {
    set.set(number);
  }
  return set;
}

/// The opcodes that each FaultAction can meet.
using Meetings = std::array<OpcodeSet, fault_action_names.size()>;

Meetings all_meetings() noexcept {
  using enum LinkOpcode;
  using enum RdmaTaskKind;
  const OpcodeSet data = of_engines(true);
  const OpcodeSet queued = of_engines(false) | of_rdma_tasks(receive, remote_net_sync_event_notify_add);
  const OpcodeSet connects = of_links({rdma_connect, comch_connect});
  const OpcodeSet messages = of_links({comch_send, comch_receive});
  const OpcodeSet updates = of_links({sync_event_set, sync_event_add});
  const OpcodeSet everything = queued | connects | messages | updates | of_links({sync_event_wait});
  Meetings met;
  const auto meets = [&](FaultAction action, const OpcodeSet& set) { met[static_cast<std::size_t>(action)] = set; };
  meets(FaultAction::fail, queued | connects | messages | updates);
  meets(FaultAction::drop, queued | messages | updates);
  meets(FaultAction::delay, queued | messages);
  meets(FaultAction::duplicate, (queued | messages | updates) & ~of_rdma_tasks(receive, receive));
  meets(FaultAction::corrupt, data | of_rdma_tasks(receive, remote_net_sync_event_get) | messages | updates);
  meets(FaultAction::misreport_length, data | of_rdma_tasks(receive, write_imm) | messages);
  meets(FaultAction::full, queued | of_links({comch_send}));
  meets(FaultAction::lose_notification, queued | of_links({comch_receive, sync_event_wait}));
  for (const FaultAction action :
       {FaultAction::remove_device, FaultAction::link_down, FaultAction::kill, FaultAction::freeze}) {
    meets(action, everything);
  }
  return met;
}

bool has_library(const Capabilities& can, std::string_view library) noexcept {
  if (library == "rdma") {
    return can.rdma.has_value();
  }
  if (library == "comch") {
    return can.comch.has_value() && (can.comch->server || can.comch->client);
  }
  return can.sync_event.has_value();
}

}  // namespace

std::span<const std::string> opcode_names() noexcept {
  static const detail::NeverDestroyed<std::vector<std::string>> names{all_names()};
  return names.value;
}

std::string_view name_of(Opcode opcode) noexcept { return opcode_names()[static_cast<std::size_t>(opcode)]; }

std::optional<Opcode> find_opcode(std::string_view name) noexcept {
  const auto found = std::ranges::find(opcode_names(), name);
  return found != opcode_names().end() ? std::optional(static_cast<Opcode>(found - opcode_names().begin()))
                                       : std::nullopt;
}

Opcode number_of(LinkOpcode opcode) noexcept {
  return static_cast<Opcode>(count_engine_opcodes() + static_cast<std::size_t>(opcode));
}

Opcode number_of(RdmaTaskKind task) noexcept {
  return static_cast<Opcode>(count_engine_opcodes() + static_cast<std::size_t>(task));
}

Opcode first_of(const backend::EngineTraits& engine) noexcept {
  std::size_t number = 0;
  for (const backend::EngineTraits* const known : backend::engines()) {
    if (known->name == engine.name) {
      break;
    }
    number += known->opcodes.size();
  }
  return static_cast<Opcode>(number);
}

const OpcodeSet& meetings(FaultAction action) noexcept {
  static const Meetings met = all_meetings();
  return met[static_cast<std::size_t>(action)];
}

bool can_do(const Capabilities& capabilities, Opcode opcode) noexcept {
  const std::string_view name = name_of(opcode);
  const std::string_view library = name.substr(0, name.find('.'));
  const auto engines = backend::engines();
  const auto engine = std::ranges::find(engines, library, &backend::EngineTraits::name);
  return engine != engines.end() ? (*engine)->is_present(capabilities) : has_library(capabilities, library);
}

}  // namespace pydoca::faulty

namespace pydoca {

std::span<const std::string> fault_opcodes() noexcept { return faulty::opcode_names(); }

bool can_meet(FaultAction action, std::string_view opcode) noexcept {
  const auto found = faulty::find_opcode(opcode);
  return found.has_value() && faulty::meetings(action)[static_cast<std::size_t>(*found)];
}

}  // namespace pydoca

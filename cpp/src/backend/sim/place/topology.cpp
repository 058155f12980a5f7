#include "backend/sim/place/topology.hpp"

#include "pydoca/device_properties.hpp"
#include "pydoca/types.hpp"

#include "backend/sim/place/function_index.hpp"
#include "backend/sim/place/gids.hpp"
#include "detail/concat.hpp"
#include "detail/text/enumerators.hpp"

#include <algorithm>
#include <concepts>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>

namespace pydoca::sim {

namespace {

/// A topology, complete and checked.
struct Plan {
  explicit Plan(Topology&& complete) : topology(std::move(complete)), index(topology) {}

  const Topology topology;
  const FunctionIndex index;
};

std::shared_ptr<const Plan> make_plan(Topology topology);

/// Never destroyed: devices may outlive static destructors.
struct Machine {
  std::mutex mutex;
  std::shared_ptr<const Plan> plan = make_plan(default_topology());
  std::vector<std::shared_ptr<Removal>> removals{plan->topology.functions.size()};  // null: never asked for
  std::uint64_t looks = 0;

  static Machine& instance() {
    static auto* const machine = new Machine;
    return *machine;
  }

  const Function& function_at(Position position) {
    ++looks;
    return plan->topology.functions[position];
  }

  std::shared_ptr<Removal>& removal_of(Position position) {
    std::shared_ptr<Removal>& removal = removals[position];
    if (removal == nullptr) {
      removal = std::make_shared<Removal>();
    }
    return removal;
  }

  bool is_present(Position position) const noexcept {
    return removals[position] == nullptr || !removals[position]->happened();
  }

  /// The properties without a copy: they keep the plan.
  std::shared_ptr<const DeviceProperties> share(Position position) { return {plan, &function_at(position).properties}; }

  std::optional<Position> find_by_name(std::string_view name) const noexcept {
    return first(plan->index.names.of(name));
  }

  /// Finds a function by name or address. An SF shares the address of the function that carries it; the address means
  /// that function.
  std::optional<Position> find_function(std::string_view selector) const {
    const auto address = parse_pci_addr(selector);
    return address.has_value() ? first(plan->index.addresses.of(*address)) : find_by_name(selector);
  }

  static std::optional<Position> first(std::span<const FunctionIndex::Words::Entry> entries) noexcept {
    return entries.empty() ? std::nullopt : std::optional(entries.front().position);
  }
};

[[noreturn]] void refuse(const Function& function, std::string_view why) {
  throw Error(Status::invalid_value, detail::concat("topology: function \"", function.properties.name, "\" ", why));
}

/// Checks a name, which is used in messages and in file names.
void check_name(const Function& function) {
  const auto is_control = [](char character) {
    return static_cast<unsigned char>(character) < 0x20 || character == 0x7f;
  };
  if (std::ranges::any_of(function.properties.name, is_control)) {
    throw Error(Status::invalid_value, "topology: the name of a function has a control character");
  }
}

void check_parent(const Plan& plan, const Function& function) {
  if (function.parent.empty()) {
    return;
  }
  const auto found = plan.index.names.of(function.parent);
  const DeviceProperties* const parent =
      found.empty() ? nullptr : &plan.topology.functions[found.front().position].properties;
  if (parent == nullptr || parent->side != Side::dpu || parent->func_type != PciFuncType::pf) {
    refuse(function,
           detail::concat("has parent \"", function.parent, "\", which is not a physical function of the DPU"));
  }
}

/// A limit of 0 would say that it has the library, and cannot use it.
template <class T>
void check_no_limit_is_0(const Function& function, const char* library, const std::optional<T>& can) {
  const auto check = [&]<class Value>(const Field<T, Value>& field) {
    if constexpr (std::integral<Value> && !std::same_as<Value, bool>) {
      const std::string_view name = field.name;
      const bool is_limit = name.starts_with("max_") || name.ends_with("_max_buf_list_len");
      if (is_limit && (*can).*field.member == 0) {
        refuse(function, detail::concat("has ", library, " with ", field.name, " = 0; give the limit, or write ",
                                        library, " = false where there is none"));
      }
    }
  };
  if (can.has_value()) {
    std::apply([&](const auto&... field) { (check(field), ...); }, T::fields());
  }
}

void check_comch(const Function& function) {
  constexpr std::uint32_t longest_message = std::uint32_t{16} << 20;
  const Capabilities& can = function.properties.capabilities;
  if (!can.comch) {
    return;
  }
  if (can.comch->max_name_len < 2 || can.comch->max_recv_queue_size == 0 || can.comch->max_clients == 0 ||
      can.comch->max_send_tasks == 0) {
    refuse(function, "has a comch limit of 0, or a max_name_len without room for a character and the NUL");
  }
  if (can.comch->max_msg_size == 0 || can.comch->max_msg_size > longest_message) {
    refuse(function, detail::concat("has a max_msg_size of ", can.comch->max_msg_size, " bytes, which is not in 1..",
                                    longest_message));
  }
}

void check_limits(const Function& function) {
  check_comch(function);
  const Capabilities& can = function.properties.capabilities;
  std::apply([&](const auto&... library) { (check_no_limit_is_0(function, library.name, can.*library.member), ...); },
             LibraryCapabilities::fields());
}

/// Calls refuse_pair with the later of two functions that share a key, and the earlier one.
template <class Key, class Refuse>
void check_unique(const Plan& plan, const PositionsByKey<Key>& positions, const Refuse& refuse_pair) {
  if (const auto both = positions.duplicates(); !both.empty()) {
    refuse_pair(plan.topology.functions[both[1].position], plan.topology.functions[both[0].position].properties.name);
  }
}

void check(const Plan& plan) {
  check_unique(plan, plan.index.names,
               [](const Function& one, const std::string&) { refuse(one, "is there twice; names must differ"); });
  check_unique(plan, plan.index.addresses, [](const Function& one, const std::string& other) {
    refuse(one, detail::concat("has the address of \"", other, "\", ", one.properties.pci_addr));
  });
  check_unique(plan, plan.index.representors, [](const Function& one, const std::string& other) {
    refuse(one, detail::concat("has the representor of \"", other, "\", ", one.representor));
  });
  for (const Function& function : plan.topology.functions) {
    check_name(function);
    check_parent(plan, function);
    check_limits(function);
  }
}

void complete(Function& function) {
  DeviceProperties& properties = function.properties;
  if (properties.name.empty()) {
    refuse(function, "needs a name");
  }
  detail::require_one_of("topology: " + properties.name, properties.side, Side::dpu, "side");
  detail::require_one_of("topology: " + properties.name, properties.func_type, PciFuncType::sf, "type of function");
  properties.backend = "sim";
  properties.pci_addr = canonical_pci_addr(properties.pci_addr);
  if (properties.capabilities.rdma.has_value()) {
    properties.capabilities.rdma->gids = gids_of(properties);
  }
}

RepresentorProperties representor_of(const Function& function) {
  const DeviceProperties& properties = function.properties;
  return {.name = function.representor,
          .pci_addr = properties.pci_addr,
          .func_type = properties.func_type,
          .vuid = properties.vuid,
          .iface_name = function.representor,
          .vhca_id = properties.vhca_id,
          .is_hotplug = function.is_hotplug,
          .is_emulated = function.is_emulated};
}

bool passes(RepFilter filter, const Function& function) noexcept {
  const auto mask = static_cast<std::uint32_t>(filter);
  const RepFilter own = function.is_emulated ? RepFilter::emulated : RepFilter::net;
  return filter == RepFilter::all || (mask & static_cast<std::uint32_t>(own)) != 0;
}

std::shared_ptr<const Plan> make_plan(Topology topology) {
  std::ranges::for_each(topology.functions, complete);
  auto plan = std::make_shared<const Plan>(std::move(topology));
  check(*plan);
  return plan;
}

}  // namespace

void replace_topology(Topology topology) {
  std::shared_ptr<const Plan> plan = make_plan(std::move(topology));
  std::vector<std::shared_ptr<Removal>> removals(plan->topology.functions.size());
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  machine.plan.swap(plan);  // the old one ends without the lock
  machine.removals.swap(removals);
}

const Topology& present_topology() {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  return machine.plan->topology;
}

std::uint64_t functions_looked_at() {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  return machine.looks;
}

void take_out(std::string_view selector) {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  const auto found = machine.find_function(selector);
  if (!found.has_value() || !machine.is_present(*found)) {
    throw Error(Status::not_found, detail::concat("remove device \"", selector, "\": there is no such function"));
  }
  machine.removal_of(*found)->happen();
}

void put_back(std::string_view selector) {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  const auto found = machine.find_function(selector);
  if (!found.has_value()) {
    throw Error(Status::not_found,
                detail::concat("restore device \"", selector, "\": the topology has no such function"));
  }
  if (!machine.is_present(*found)) {
    machine.removals[*found] = nullptr;  // devices opened before stay dead
  }
}

std::vector<std::shared_ptr<const DeviceProperties>> present_functions() {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  const auto count = static_cast<Position>(machine.plan->topology.functions.size());
  std::vector<std::shared_ptr<const DeviceProperties>> list;
  list.reserve(count);
  for (Position position = 0; position < count; ++position) {
    if (machine.is_present(position)) {
      list.push_back(machine.share(position));
    }
  }
  return list;
}

std::vector<std::shared_ptr<const DeviceProperties>> present_functions(std::string_view word) {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  std::vector<std::shared_ptr<const DeviceProperties>> list;
  for (const auto& entry : machine.plan->index.words.of(word)) {
    if (machine.is_present(entry.position)) {
      list.push_back(machine.share(entry.position));
    }
  }
  return list;
}

PresentFunction find_present(const DeviceProperties& properties) {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  const auto found = machine.find_by_name(properties.name);
  const Function* const function = found.has_value() ? &machine.function_at(*found) : nullptr;
  if (function == nullptr || function->properties.pci_addr != properties.pci_addr ||
      function->properties.side != properties.side || !machine.is_present(*found)) {
    throw Error(Status::not_found, detail::concat("open ", properties.name, " (", properties.pci_addr,
                                                  "): the function has gone; enumerate again"));
  }
  return {*function, machine.removal_of(*found)};
}

bool is_replaced(const PresentFunction& present) noexcept {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  const auto found = machine.find_by_name(present.function.properties.name);
  return !found.has_value() || machine.removals[*found] != present.removal;
}

std::vector<RepresentorProperties> representors_of(std::string_view parent, RepFilter filter, std::string_view word) {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  std::vector<RepresentorProperties> list;
  for (const auto& entry : machine.plan->index.children.of({parent, word})) {
    const Function& function = machine.function_at(entry.position);
    if (machine.is_present(entry.position) && passes(filter, function)) {
      list.push_back(representor_of(function));
    }
  }
  return list;
}

std::optional<Function> host_function_at(std::string_view pci_addr) {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  for (const auto& entry : machine.plan->index.words.of(pci_addr)) {
    const Function& function = machine.function_at(entry.position);
    if (function.properties.side == Side::host && function.properties.pci_addr == pci_addr) {
      return function;
    }
  }
  return std::nullopt;
}

std::string address_of(std::string_view name) {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  const auto found = machine.find_by_name(name);
  return found.has_value() ? machine.function_at(*found).properties.pci_addr : std::string();
}

}  // namespace pydoca::sim

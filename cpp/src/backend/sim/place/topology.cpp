#include "backend/sim/place/topology.hpp"

#include "pydoca/types.hpp"

#include "backend/sim/place/gids.hpp"
#include "detail/concat.hpp"

#include <algorithm>
#include <map>
#include <mutex>

namespace pydoca::sim {

namespace {

/// Never destroyed: devices may outlive static destructors.
struct Machine {
  std::mutex mutex;
  std::shared_ptr<const Topology> topology = std::make_shared<const Topology>(default_topology());
  std::map<std::string, std::shared_ptr<Removal>, std::less<>> removals;  // by function name; absent: never asked for

  static Machine& instance() {
    static auto* const machine = new Machine;
    return *machine;
  }

  std::shared_ptr<Removal>& removal_of(const std::string& name) {
    std::shared_ptr<Removal>& removal = removals[name];
    if (removal == nullptr) {
      removal = std::make_shared<Removal>();
    }
    return removal;
  }

  bool is_present(const Function& function) { return !removal_of(function.properties.name)->happened(); }
};

[[noreturn]] void refuse(const Function& function, std::string_view why) {
  throw Error(Status::invalid_value, detail::concat("topology: function \"", function.properties.name, "\" ", why));
}

const Function* find_by_name(const Topology& topology, std::string_view name) {
  const auto found =
      std::ranges::find_if(topology.functions, [&](const Function& other) { return other.properties.name == name; });
  return found == topology.functions.end() ? nullptr : &*found;
}

bool is_sf(const Function& function) noexcept { return function.properties.func_type == PciFuncType::sf; }

/// By name or address. An SF shares the address of the function that carries it; the address means that function.
const Function* find_function(const Topology& topology, std::string_view selector) {
  const auto address = parse_pci_addr(selector);
  if (!address.has_value()) {
    return find_by_name(topology, selector);
  }
  const auto found = std::ranges::find_if(topology.functions, [&](const Function& other) {
    return other.properties.pci_addr == *address && !is_sf(other);
  });
  return found == topology.functions.end() ? nullptr : &*found;
}

void check_parent(const Topology& topology, const Function& function) {
  if (function.parent.empty()) {
    return;
  }
  const Function* const parent = find_by_name(topology, function.parent);
  if (parent == nullptr || parent->properties.side != Side::dpu || parent->properties.func_type != PciFuncType::pf) {
    refuse(function,
           detail::concat("has parent \"", function.parent, "\", which is not a physical function of the DPU"));
  }
}

void check_limits(const Function& function) {
  constexpr std::uint32_t longest_message = std::uint32_t{16} << 20;
  const Capabilities& can = function.properties.capabilities;
  if (can.dma && (can.dma->max_buf_size == 0 || can.dma->max_buf_list_len == 0 || can.dma->max_num_tasks == 0)) {
    refuse(function, "has a limit of 0 for dma; leave dma out where there is none");
  }
  if (can.rdma && (can.rdma->max_send_queue_size == 0 || can.rdma->max_send_buf_list_len == 0 ||
                   can.rdma->max_recv_buf_list_len == 0 || can.rdma->max_num_connections == 0)) {
    refuse(function, "has a limit of 0 for rdma; leave rdma out where there is none");
  }
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

void check_pair(const Function& one, const Function& other) {
  if (one.properties.name == other.properties.name) {
    refuse(one, "is there twice; names must differ");
  }
  // SFs share the address of the function that carries them.
  if (one.properties.pci_addr == other.properties.pci_addr && !is_sf(one) && !is_sf(other)) {
    refuse(one, detail::concat("has the address of \"", other.properties.name, "\", ", one.properties.pci_addr));
  }
  if (!one.representor.empty() && one.parent == other.parent && one.representor == other.representor) {
    refuse(one, detail::concat("has the representor of \"", other.properties.name, "\", ", one.representor));
  }
}

void check(const Topology& topology) {
  const auto& functions = topology.functions;
  for (auto one = functions.begin(); one != functions.end(); ++one) {
    check_parent(topology, *one);
    check_limits(*one);
    for (auto other = functions.begin(); other != one; ++other) {
      check_pair(*one, *other);
    }
  }
}

void complete(Function& function) {
  DeviceProperties& properties = function.properties;
  if (properties.name.empty()) {
    refuse(function, "needs a name");
  }
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

}  // namespace

void set_topology(Topology topology) {
  std::ranges::for_each(topology.functions, complete);
  check(topology);
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  machine.topology = std::make_shared<const Topology>(std::move(topology));
  machine.removals.clear();
}

const Topology& topology() {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  return *machine.topology;
}

void remove_device(std::string_view selector) {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  const Function* const function = find_function(*machine.topology, selector);
  if (function == nullptr || !machine.is_present(*function)) {
    throw Error(Status::not_found, detail::concat("remove device \"", selector, "\": there is no such function"));
  }
  machine.removal_of(function->properties.name)->happen();
}

void restore_device(std::string_view selector) {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  const Function* const function = find_function(*machine.topology, selector);
  if (function == nullptr) {
    throw Error(Status::not_found,
                detail::concat("restore device \"", selector, "\": the topology has no such function"));
  }
  if (!machine.is_present(*function)) {
    machine.removals.erase(function->properties.name);  // devices opened before stay dead
  }
}

std::vector<DeviceProperties> present_functions() {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  std::vector<DeviceProperties> list;
  for (const Function& function : machine.topology->functions) {
    if (machine.is_present(function)) {
      list.push_back(function.properties);
    }
  }
  return list;
}

PresentFunction find_present(const DeviceProperties& properties) {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  const Function* const function = find_by_name(*machine.topology, properties.name);
  if (function == nullptr || function->properties.pci_addr != properties.pci_addr ||
      function->properties.side != properties.side || !machine.is_present(*function)) {
    throw Error(Status::not_found, detail::concat("open ", properties.name, " (", properties.pci_addr,
                                                  "): the function has gone; enumerate again"));
  }
  return {*function, machine.removal_of(properties.name)};
}

bool is_replaced(const PresentFunction& present) noexcept {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  const auto known = machine.removals.find(present.function.properties.name);
  return known == machine.removals.end() || known->second != present.removal;
}

std::vector<RepresentorProperties> representors_of(std::string_view parent, RepFilter filter) {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  std::vector<RepresentorProperties> list;
  for (const Function& function : machine.topology->functions) {
    if (function.parent == parent && !function.representor.empty() && machine.is_present(function) &&
        passes(filter, function)) {
      list.push_back(representor_of(function));
    }
  }
  return list;
}

std::optional<Function> host_function_at(std::string_view pci_addr) {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  const auto& functions = machine.topology->functions;
  const auto found = std::ranges::find_if(functions, [&](const Function& function) {
    return function.properties.side == Side::host && function.properties.pci_addr == pci_addr;
  });
  return found == functions.end() ? std::nullopt : std::optional(*found);
}

std::string address_of(std::string_view name) {
  Machine& machine = Machine::instance();
  const std::lock_guard lock(machine.mutex);
  const Function* const function = find_by_name(*machine.topology, name);
  return function == nullptr ? std::string() : function->properties.pci_addr;
}

}  // namespace pydoca::sim

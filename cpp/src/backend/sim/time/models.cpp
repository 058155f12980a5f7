#include "backend/sim/time/models.hpp"

#include "pydoca/device_properties.hpp"
#include "pydoca/types.hpp"

#include "backend/sim/place/topology.hpp"
#include "detail/concat.hpp"
#include "detail/never_destroyed.hpp"
#include "detail/time/time.hpp"

#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace pydoca::sim {

namespace {

/// A configuration and what it has made. Never destroyed: devices may outlive static destructors.
struct Models {
  std::mutex mutex;
  std::shared_ptr<const Config> config;  ///< null: the default
  std::map<std::string, std::shared_ptr<FunctionModel>, std::less<>> functions;
  std::map<std::string, std::shared_ptr<Link>, std::less<>> links;
  std::uint64_t number = 0;
  std::uint32_t clock_number = 0;  ///< identifies the clock by which functions and links are busy

  /// Another clock began: what was busy by the former one means nothing by this one.
  void follow_clock() {
    const std::uint32_t present = detail::clock_number.load();
    if (std::exchange(clock_number, present) != present) {
      functions.clear();
      links.clear();
    }
  }
  Config current() const { return config != nullptr ? *config : Config{}; }
  /// Allocates nothing, so that a device can ask for the number in its noexcept functions.
  static Models& instance() noexcept {
    static detail::NeverDestroyed<Models> models;
    return models.value;
  }
};

void overlay(OperationTiming& timing, const OperationTiming& narrower) {
  const auto take = [](auto& value, const auto& other) {
    if (other.has_value()) {
      value = other;
    }
  };
  take(timing.latency, narrower.latency);
  take(timing.bandwidth, narrower.bandwidth);
  take(timing.rate, narrower.rate);
  take(timing.jitter, narrower.jitter);
  take(timing.queue_depth, narrower.queue_depth);
  take(timing.reorder_window, narrower.reorder_window);
  take(timing.executes_in_submit, narrower.executes_in_submit);
}

void overlay(Timing& timing, const Timing& narrower) {
  if (!narrower.preset.empty()) {
    timing = timing_preset(narrower.preset);
  }
  for (const auto& [operation, own] : narrower.operations) {
    overlay(timing.operations[operation], own);
  }
  if (narrower.pcie_bandwidth.has_value()) {
    timing.pcie_bandwidth = narrower.pcie_bandwidth;
  }
}

Timing resolve(const Config& config, const DeviceProperties& properties) {
  Timing timing;
  overlay(timing, config.timing);
  if (const auto found = config.profiles.find(properties.profile); found != config.profiles.end()) {
    overlay(timing, found->second);
  }
  if (const auto found = config.devices.find(properties.name); found != config.devices.end()) {
    overlay(timing, found->second);
  }
  timing.preset.clear();
  return timing;
}

/// The address of the card on the DPU's bus, without the function's number: functions of one card share its link.
std::string card_of(const Function& function) {
  const std::string of_parent = function.parent.empty() ? std::string() : address_of(function.parent);
  const std::string& address = of_parent.empty() ? function.properties.pci_addr : of_parent;
  return address.substr(0, address.rfind('.'));
}

std::shared_ptr<Link> link_of(Models& models, const Function& function, double bandwidth, const std::string& card) {
  std::shared_ptr<Link>& link = models.links[card];
  if (link == nullptr) {
    link = std::make_shared<Link>();
    link->ticks_per_byte = 1e9 * static_cast<double>(ticks_per_ns) / bandwidth;
  } else if (link->ticks_per_byte != 1e9 * static_cast<double>(ticks_per_ns) / bandwidth) {
    throw Error(Status::invalid_value,
                detail::concat("timing: pcie of \"", function.properties.name,
                               "\" differs from that of another function of its card, and a card has one link"));
  }
  return link;
}

Function function_called(std::string_view name) {
  for (const Function& function : present_topology().functions) {
    if (function.properties.name == name) {
      return function;
    }
  }
  throw Error(Status::not_found, detail::concat("timing: the topology has no function \"", name, "\""));
}

}  // namespace

void replace_config(Config config) {
  Models& models = Models::instance();
  const std::lock_guard lock(models.mutex);
  const bool has_none = config == Config{} && models.current() == Config{};
  models.config = std::make_shared<const Config>(std::move(config));
  models.number += has_none ? 0 : 1;
  models.functions.clear();
  models.links.clear();
}

Config present_config() {
  Models& models = Models::instance();
  const std::lock_guard lock(models.mutex);
  return models.current();
}

std::uint64_t config_number() noexcept {
  Models& models = Models::instance();
  const std::lock_guard lock(models.mutex);
  return models.number;
}

Timing present_timing_of(std::string_view device) {
  return resolve(present_config(), function_called(device).properties);
}

std::shared_ptr<FunctionModel> model_of(const Function& function) {
  const std::string card = card_of(function);
  Models& models = Models::instance();
  const std::lock_guard lock(models.mutex);
  models.follow_clock();
  const std::string& name = function.properties.name;
  if (const auto found = models.functions.find(name); found != models.functions.end()) {
    return found->second;
  }
  const Timing timing = resolve(models.current(), function.properties);
  std::shared_ptr<FunctionModel> model;
  if (!timing.operations.empty() || timing.pcie_bandwidth.has_value()) {
    std::shared_ptr<Link> link;
    if (timing.pcie_bandwidth.has_value()) {
      link = link_of(models, function, *timing.pcie_bandwidth, card);
    }
    model = std::make_shared<FunctionModel>(timing, detail::mixed_seed(models.current().seed), name, std::move(link));
  }
  return models.functions[name] = model;
}

}  // namespace pydoca::sim

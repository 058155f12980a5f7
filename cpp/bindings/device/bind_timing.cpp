#include <pydoca/sim.hpp>
#include <pydoca/status.hpp>

#include "convert/bindings.hpp"
#include "convert/convert.hpp"

#include <pybind11/stl.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pydoca::bindings {

namespace {

using std::chrono::nanoseconds;

/// Numbers in nanoseconds, bytes and operations a second: pydoca._time.timing has read what the program gave, and knows
/// the keys.
template <class T>
void take(const py::dict& table, const char* key, std::optional<T>& value) {
  if (table.contains(key)) value = table[key].cast<T>();
}

sim::JitterDistribution to_distribution(const std::string& word) {
  using enum sim::JitterDistribution;
  for (const auto distribution : {none, uniform, normal, lognormal, exponential}) {
    if (sim::name_of(distribution) == word) return distribution;
  }
  raise(Status::invalid_value, "timing: there is no distribution " + word);
}

sim::OperationTiming to_operation_timing(const py::dict& table) {
  sim::OperationTiming timing;
  if (table.contains("latency")) timing.latency = nanoseconds(table["latency"].cast<std::int64_t>());
  take(table, "bandwidth", timing.bandwidth);
  take(table, "rate", timing.rate);
  if (table.contains("jitter")) {
    const py::dict jitter = table["jitter"];
    timing.jitter = sim::Jitter{.distribution = to_distribution(jitter["distribution"].cast<std::string>()),
                                .spread = nanoseconds(jitter["spread"].cast<std::int64_t>())};
  }
  take(table, "queue_depth", timing.queue_depth);
  take(table, "reorder_window", timing.reorder_window);
  take(table, "executes_in_submit", timing.executes_in_submit);
  return timing;
}

sim::Timing to_timing(const py::dict& table) {
  sim::Timing timing;
  for (const auto& [key, value] : table) {
    const std::string word = py::str(key);
    if (word == "preset") {
      timing.preset = value.cast<std::string>();
    } else if (word == "pcie") {
      timing.pcie_bandwidth = value["bandwidth"].cast<double>();
    } else {
      timing.operations[word] = to_operation_timing(value.cast<py::dict>());
    }
  }
  return timing;
}

void set_config(std::uint64_t seed, const py::dict& timing, const py::dict& profiles, const py::dict& devices) {
  sim::Config config;
  config.seed = seed;
  config.timing = to_timing(timing);
  for (const auto& [name, table] : profiles) config.profiles[py::str(name)] = to_timing(table.cast<py::dict>());
  for (const auto& [name, table] : devices) config.devices[py::str(name)] = to_timing(table.cast<py::dict>());
  sim::set_config(std::move(config));
}

template <class T>
void give(py::dict& table, const char* key, const std::optional<T>& value) {
  if (value.has_value()) table[key] = *value;
}

py::dict to_dict(const sim::OperationTiming& timing) {
  py::dict table;
  if (timing.latency.has_value()) table["latency"] = timing.latency->count();
  give(table, "bandwidth", timing.bandwidth);
  give(table, "rate", timing.rate);
  if (timing.jitter.has_value()) {
    table["jitter"] = py::dict("distribution"_a = sim::name_of(timing.jitter->distribution),
                               "spread"_a = timing.jitter->spread.count());
  }
  give(table, "queue_depth", timing.queue_depth);
  give(table, "reorder_window", timing.reorder_window);
  give(table, "executes_in_submit", timing.executes_in_submit);
  return table;
}

py::dict to_dict(const sim::Timing& timing) {
  py::dict table;
  if (!timing.preset.empty()) table["preset"] = timing.preset;
  for (const std::string_view operation : sim::timed_operations()) {
    const auto found = timing.operations.find(operation);
    if (found != timing.operations.end()) table[to_str(operation)] = to_dict(found->second);
  }
  if (timing.pcie_bandwidth.has_value()) table["pcie"] = py::dict("bandwidth"_a = *timing.pcie_bandwidth);
  return table;
}

template <class Map>
py::dict to_dict_of(const Map& timings) {
  py::dict table;
  for (const auto& [name, timing] : timings) table[py::str(name)] = to_dict(timing);
  return table;
}

py::tuple get_config() {
  const sim::Config config = sim::config();
  return py::make_tuple(config.seed, to_dict(config.timing), to_dict_of(config.profiles), to_dict_of(config.devices));
}

}  // namespace

void bind_timing(py::module_& module) {
  module.def("sim_set_config", &set_config, "seed"_a, "timing"_a, "profiles"_a, "devices"_a);
  module.def("sim_config", &get_config);
  module.def("sim_timing", [](const std::string& device) { return to_dict(sim::timing_of(device)); }, "device"_a);
  module.def("sim_timing_preset", [](const std::string& name) { return to_dict(sim::timing_preset(name)); }, "name"_a);
  module.def("sim_timing_presets", &sim::timing_presets);
  module.def("sim_timed_operations", [] {
    return std::vector<std::string_view>(sim::timed_operations().begin(), sim::timed_operations().end());
  });
}

}  // namespace pydoca::bindings

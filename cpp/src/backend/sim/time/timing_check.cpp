#include "backend/sim/time/timing_check.hpp"

#include "pydoca/words.hpp"

#include "backend/sim/time/timed_operation.hpp"
#include "detail/concat.hpp"
#include "detail/text/enumerators.hpp"
#include "detail/text/quantity.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::sim {

namespace {

constexpr std::chrono::nanoseconds longest = std::chrono::hours(1);
constexpr std::uint32_t widest_window = 4096;

/// Refuses the value of a key, which where names.
[[noreturn]] void refuse_timing(std::string_view where, std::string_view why) {
  throw Error(Status::invalid_value, detail::concat("timing: ", where, ' ', why));
}

void check_time(const std::string& where, std::chrono::nanoseconds time) {
  if (time < std::chrono::nanoseconds(0) || time > longest) {
    refuse_timing(where, detail::concat("is ", detail::text_of(time), "; it must be 0 to an hour"));
  }
}

/// Checks a speed in bytes or operations.
void check_speed(const std::string& where, double per_second) {
  if (!std::isfinite(per_second) || per_second < 1 || per_second > 1e15) {
    refuse_timing(where, "must be 1 to 1e15 a second; leave it out where there is no limit");
  }
}

void check_jitter(const std::string& where, const OperationTiming& timing) {
  if (!timing.jitter.has_value()) {
    return;
  }
  const Jitter& jitter = *timing.jitter;
  detail::require_one_of(where + ": jitter", jitter.distribution, JitterDistribution::exponential, "distribution");
  check_time(where + ": jitter: spread", jitter.spread);
  const bool is_none = jitter.distribution == JitterDistribution::none;
  if (is_none != (jitter.spread == std::chrono::nanoseconds(0))) {
    refuse_timing(where + ": jitter", is_none ? "has a spread but the distribution none; leave out one of them"
                                              : detail::concat("has the distribution ", name_of(jitter.distribution),
                                                               " but no spread; give one, as \"100ns\""));
  }
}

void check_order(const std::string& where, TimedOperation operation, const OperationTiming& timing) {
  const std::uint32_t window = timing.reorder_window.value_or(1);
  if (window == 0 || window > widest_window) {
    refuse_timing(where + ": reorder_window",
                  detail::concat("is ", window, "; it must be 1 (in order) to ", widest_window));
  }
  if (timing.queue_depth.value_or(0) != 0 && window > *timing.queue_depth) {
    refuse_timing(where + ": reorder_window", detail::concat("is ", window, ", more than the queue_depth of ",
                                                             *timing.queue_depth, ", beyond which nothing is queued"));
  }
  if (engine_of(operation) != nullptr) {
    return;
  }
  if (window > 1) {
    const bool is_event = operation >= TimedOperation::sync_event_set;
    refuse_timing(where + ": reorder_window",
                  detail::concat("does not apply: ", is_event ? "the updates of an event are" : "a connection is",
                                 " in order; leave it out"));
  }
  if (timing.executes_in_submit.has_value()) {
    refuse_timing(where + ": executes_in_submit", "does not apply: it is executed when it is due; leave it out");
  }
  if (timing.queue_depth.has_value() && operation != TimedOperation::comch_send) {
    refuse_timing(where + ": queue_depth", operation < TimedOperation::comch_send
                                               ? "does not apply; give the context its send_queue_size"
                                               : "does not apply; give the context so many tasks (set_conf)");
  }
}

void check_timing(const std::string& where, const Timing& timing) {
  if (!timing.preset.empty()) {
    static_cast<void>(timing_preset(timing.preset));
  }
  if (timing.pcie_bandwidth.has_value()) {
    check_speed(where + "pcie: bandwidth", *timing.pcie_bandwidth);
  }
  for (const auto& [operation, own] : timing.operations) {
    const std::string named = where + operation;
    const auto found = find_timed_operation(operation);
    if (!found.has_value()) {
      refuse_timing(named, detail::concat("is not an operation; there are: ", detail::listed(timed_operations())));
    }
    check_time(named + ": latency", own.latency.value_or(std::chrono::nanoseconds(0)));
    check_speed(named + ": bandwidth", own.bandwidth.value_or(1));
    check_speed(named + ": rate", own.rate.value_or(1));
    check_jitter(named, own);
    check_order(named, *found, own);
  }
}

}  // namespace

void check_models(const Config& config) {
  check_timing("", config.timing);
  for (const auto& [name, timing] : config.profiles) {
    static_cast<void>(profile_capabilities(name, Side::host));  // throws for what is not a profile
    check_timing(detail::concat("profile ", name, ": "), timing);
  }
  for (const auto& [name, timing] : config.devices) {
    check_timing(detail::concat("device ", name, ": "), timing);
  }
}

void require_functions(const Config& config, const Topology& topology) {
  if (config.devices.empty()) {
    return;
  }
  std::vector<std::string_view> names;
  for (const Function& function : topology.functions) {
    names.emplace_back(function.properties.name);
  }
  for (const auto& [name, timing] : config.devices) {
    if (std::ranges::find(names, name) == names.end()) {
      refuse_word("timing: device", name, names);
    }
  }
}

}  // namespace pydoca::sim

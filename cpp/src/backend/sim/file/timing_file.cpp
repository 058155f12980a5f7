#include "pydoca/sim.hpp"
#include "pydoca/sim_timing.hpp"

#include "backend/sim/file/sim_file.hpp"
#include "detail/concat.hpp"
#include "detail/table/read.hpp"
#include "detail/text/quantity.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace pydoca::sim {

namespace {

using detail::concat;
using detail::Unit;
using detail::Words;

/// The units of one kind of quantity, the one of a plain number, and an example for messages.
struct Kind {
  std::span<const Unit> units;
  std::string_view unit;
  std::string_view example;
};

constexpr std::array speeds{Unit{"B/s"},
                            Unit{"kB/s", 3},
                            Unit{"MB/s", 6},
                            Unit{"GB/s", 9},
                            Unit{"TB/s", 12},
                            Unit{"KiB/s", 0, 1024},
                            Unit{"MiB/s", 0, 1024 * 1024},
                            Unit{"GiB/s", 0, 1024 * 1024 * 1024},
                            Unit{"TiB/s", 0, 1024.0 * 1024 * 1024 * 1024},
                            Unit{"bit/s", 0, 0.125},
                            Unit{"kbit/s", 3, 0.125},
                            Unit{"kb/s", 3, 0.125},
                            Unit{"Mbit/s", 6, 0.125},
                            Unit{"Mb/s", 6, 0.125},
                            Unit{"Gbit/s", 9, 0.125},
                            Unit{"Gb/s", 9, 0.125},
                            Unit{"Tbit/s", 12, 0.125},
                            Unit{"Tb/s", 12, 0.125}};
constexpr std::array rates{Unit{"/s"}, Unit{"k/s", 3}, Unit{"M/s", 6}, Unit{"G/s", 9}};
constexpr Kind a_time{detail::time_units, "s", "1.9us"};
constexpr Kind a_speed{speeds, "B/s", "25GB/s"};
constexpr Kind a_rate{rates, "/s", "10M/s"};

/// Those of speeds that are written: powers of 1000.
constexpr std::span written_speeds(speeds.begin(), 5);

constexpr std::array distributions{JitterDistribution::none, JitterDistribution::uniform, JitterDistribution::normal,
                                   JitterDistribution::lognormal, JitterDistribution::exponential};

Words names_of_distributions() {
  Words names;
  for (const JitterDistribution distribution : distributions) {
    names.push_back(name_of(distribution));
  }
  return names;
}

[[noreturn]] void refuse(const std::string& where, std::string_view why) {
  throw Error(Status::invalid_value, concat(where, ' ', why));
}

/// The quantity in the smallest unit.
double read_quantity(const Value& value, const std::string& where, const Kind& kind) {
  const bool is_number = value.as<std::int64_t>() || value.as<std::uint64_t>() || value.as<double>();
  const auto* const given = value.as<std::string>();
  const std::string text = is_number ? text_of(value).append(kind.unit) : given != nullptr ? *given : std::string();
  const auto quantity = detail::to_quantity(text);
  if (!quantity.has_value()) {
    refuse(where, concat("is ", text_of(value), "; write a number and its unit, such as \"", kind.example, '"'));
  }
  if (quantity->unit.empty()) {
    refuse(where, concat("is \"", text, "\", without a unit; write it as in \"", kind.example, '"'));
  }
  Words names;
  for (const Unit& unit : kind.units) {
    if (unit.name == quantity->unit) {
      return quantity->in(unit);
    }
    names.push_back(unit.name);
  }
  refuse_word(where + ": unit", quantity->unit, names);
}

std::chrono::nanoseconds read_time(const Value& value, const std::string& where) {
  constexpr double longest = 4e18;
  const double time = std::nearbyint(read_quantity(value, where, a_time));
  if (!(std::abs(time) < longest)) {
    refuse(where, concat("is ", text_of(value), "; it must be 0 to an hour"));
  }
  return std::chrono::nanoseconds(static_cast<std::int64_t>(time));
}

/// The key's value, and its place for messages; nothing when the table lacks it.
struct Item {
  Item(const Table& table, std::string_view key, const std::string& place)
      : value(table.find(key)), where(concat(place, ": ", key)) {}
  explicit operator bool() const noexcept { return value != nullptr && !value->is_absent(); }

  const Value* value;
  std::string where;
};

Jitter read_jitter(const Value& value, const std::string& where) {
  const Table& table = detail::to_table(value, where);
  detail::require_known(table, where + ": key", {"distribution", "spread"});
  const Item distribution(table, "distribution", where);
  const Words names = names_of_distributions();
  if (!distribution) {
    refuse(where, "needs a distribution: " + detail::listed(names));
  }
  Jitter jitter;
  jitter.distribution = distributions[detail::to_choice(*distribution.value, distribution.where, names)];
  if (const Item spread(table, "spread", where); spread) {
    jitter.spread = read_time(*spread.value, spread.where);
  }
  return jitter;
}

OperationTiming read_operation(const Value& value, const std::string& where) {
  const Table& table = detail::to_table(value, where);
  detail::require_known(
      table, where + ": key",
      {"latency", "bandwidth", "rate", "jitter", "queue_depth", "reorder_window", "executes_in_submit"});
  OperationTiming timing;
  const auto take = [&](std::string_view key, auto& field, const auto& read_value) {
    if (const Item item(table, key, where); item) {
      field = read_value(*item.value, item.where);
    }
  };
  const auto number = [](const Value& given, const std::string& place) {
    return static_cast<std::uint32_t>(detail::to_number(given, place, 0, UINT32_MAX));
  };
  take("latency", timing.latency, read_time);
  take("bandwidth", timing.bandwidth,
       [](const Value& given, const std::string& place) { return read_quantity(given, place, a_speed); });
  take("rate", timing.rate,
       [](const Value& given, const std::string& place) { return read_quantity(given, place, a_rate); });
  take("jitter", timing.jitter, read_jitter);
  take("queue_depth", timing.queue_depth, number);
  take("reorder_window", timing.reorder_window, number);
  take("executes_in_submit", timing.executes_in_submit, [](const Value& given, const std::string& place) {
    bool truth = false;
    detail::read(given, truth, place);
    return truth;
  });
  return timing;
}

double read_link(const Value& value, const std::string& where) {
  const Table& table = detail::to_table(value, where);
  detail::require_known(table, where + ": key", {"bandwidth"});
  const Item bandwidth(table, "bandwidth", where);
  if (!bandwidth) {
    refuse(where, "needs a bandwidth");
  }
  return read_quantity(*bandwidth.value, bandwidth.where, a_speed);
}

/// wider: the keys that only the configuration has, which others read.
Timing read_timing(const Table& table, const std::string& where, const Words& wider) {
  Words known = wider;
  known.emplace_back("preset");
  known.insert(known.end(), timed_operations().begin(), timed_operations().end());
  known.emplace_back("pcie");
  if (!wider.empty()) {
    known.insert(known.end(), {"profiles", "devices"});
  }
  detail::require_known(table, where + "key", known);
  Timing timing;
  for (const auto& [key, value] : table.entries) {
    const bool is_wider = !wider.empty() && (key == "seed" || key == "profiles" || key == "devices");
    if (value.is_absent() || is_wider) {
      continue;
    }
    if (key == "preset") {
      timing.preset = timing_presets()[detail::to_choice(value, where + "preset", timing_presets())];
    } else if (key == "pcie") {
      timing.pcie_bandwidth = read_link(value, where + key);
    } else {
      timing.operations[key] = read_operation(value, where + key);
    }
  }
  return timing;
}

std::map<std::string, Timing, std::less<>> read_timings(const Table& table, std::string_view key) {
  std::map<std::string, Timing, std::less<>> timings;
  const Value* const value = table.find(key);
  if (value == nullptr || value->is_absent()) {
    return timings;
  }
  const Table& tables = detail::to_table(*value, concat("timing: ", key));
  if (key == "profiles") {
    detail::require_known(tables, "timing: profile", profiles());
  }
  for (const auto& [name, own] : tables.entries) {
    const std::string where = concat("timing: ", key.substr(0, key.size() - 1), ' ', name);
    timings[name] = read_timing(detail::to_table(own, where), where + ": ", {});
  }
  return timings;
}

/// Adds a key for a value that is there.
template <class T, class Write>
void give(Table& table, std::string_view key, const std::optional<T>& value, const Write& write) {
  if (value.has_value()) {
    table[key] = write(*value);
  }
}

Value time_text(std::chrono::nanoseconds time) { return detail::text_of(time); }
Value speed_text(double speed) { return detail::with_unit(speed, written_speeds); }

Table table_of(const OperationTiming& timing) {
  const auto as_it_is = [](auto value) { return Value(value); };
  Table table;
  give(table, "latency", timing.latency, time_text);
  give(table, "bandwidth", timing.bandwidth, speed_text);
  give(table, "rate", timing.rate, [](double rate) { return Value(detail::with_unit(rate, rates)); });
  give(table, "jitter", timing.jitter, [](const Jitter& jitter) {
    Table own;
    own["distribution"] = name_of(jitter.distribution);
    own["spread"] = time_text(jitter.spread);
    return Value(std::move(own));
  });
  give(table, "queue_depth", timing.queue_depth, as_it_is);
  give(table, "reorder_window", timing.reorder_window, as_it_is);
  give(table, "executes_in_submit", timing.executes_in_submit, as_it_is);
  return table;
}

}  // namespace

Config read_config(const Table& table) {
  Config config;
  config.timing = read_timing(table, "timing: ", {"seed"});
  if (const Value* const seed = table.find("seed"); seed != nullptr && !seed->is_absent()) {
    config.seed = detail::to_number(*seed, "timing: seed", 0, UINT64_MAX);
  }
  config.profiles = read_timings(table, "profiles");
  config.devices = read_timings(table, "devices");
  return config;
}

Config read_config(const Value& value) { return read_config(detail::to_table(value, "timing")); }

Table table_of(const Timing& timing) {
  Table table;
  if (!timing.preset.empty()) {
    table["preset"] = timing.preset;
  }
  for (const std::string_view operation : timed_operations()) {
    if (const auto found = timing.operations.find(operation); found != timing.operations.end()) {
      table[operation] = table_of(found->second);
    }
  }
  give(table, "pcie", timing.pcie_bandwidth, [](double bandwidth) {
    Table link;
    link["bandwidth"] = speed_text(bandwidth);
    return Value(std::move(link));
  });
  return table;
}

Table table_of(const Config& config) {
  Table table;
  if (config.seed != 0) {
    table["seed"] = config.seed;
  }
  Table own = table_of(config.timing);
  std::ranges::move(own.entries, std::back_inserter(table.entries));
  const auto give_all = [&](std::string_view key, const auto& timings) {
    for (const auto& [name, timing] : timings) {
      Value& tables = table[key];
      if (tables.is_absent()) {
        tables = Table();
      }
      std::get<Table>(tables.is)[name] = table_of(timing);
    }
  };
  give_all("profiles", config.profiles);
  give_all("devices", config.devices);
  return table;
}

}  // namespace pydoca::sim

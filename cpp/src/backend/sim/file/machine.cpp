#include "backend/sim/file/environment.hpp"
#include "backend/sim/file/sim_file.hpp"
#include "backend/sim/place/topology.hpp"
#include "backend/sim/time/models.hpp"
#include "backend/sim/time/timing_check.hpp"
#include "detail/concat.hpp"
#include "detail/table/read.hpp"
#include "detail/text/variable.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <mutex>
#include <utility>

namespace pydoca::sim {

namespace {

using detail::load_variable;
using detail::variable;

/// What this process has instead of the default. Never destroyed: devices may be looked at while static destructors
/// run.
struct Choice {
  std::mutex mutex;
  bool topology = false;
  bool timing = false;
  std::optional<Table> table;  ///< the table that the topology was loaded from

  static Choice& instance() {
    static auto* const choice = new Choice;
    return *choice;
  }
};

Table without_timing(Table table) {
  std::erase_if(table.entries, [](const auto& entry) { return entry.first == "timing"; });
  return table;
}

/// All of it or nothing.
void choose_topology(Choice& choice, const Table& table) {
  Description description = read_topology(table);
  if (description.timing.has_value()) {
    check_models(*description.timing);
    require_functions(*description.timing, description.topology);
  }
  Table kept = without_timing(table);
  replace_topology(std::move(description.topology));
  choice.topology = true;
  choice.table = std::move(kept);
  if (description.timing.has_value()) {
    replace_config(std::move(*description.timing));
    choice.timing = true;
  }
}

void choose_timing(Choice& choice, Config config) {
  check_models(config);
  require_functions(config, present_topology());
  replace_config(std::move(config));
  choice.timing = true;
}

Config read_timing_file(const Table& table) {
  constexpr std::array<std::string_view, 5> others{"seed", "preset", "pcie", "profiles", "devices"};
  const auto timings = timed_operations();
  for (const auto& [key, value] : table.entries) {
    if (std::ranges::find(others, key) != others.end() || std::ranges::find(timings, key) != timings.end()) {
      throw Error(Status::invalid_value,
                  detail::concat("timing: ", key, " is a key of the table timing; write [timing] above it"));
    }
  }
  detail::require_known(table, "timing: table", {"timing"});
  const Value* const timing = table.find("timing");
  return timing != nullptr ? read_config(*timing) : Config{};
}

/// Calls load with the table of a file; what it throws begins with the file's name, as what read_toml() throws.
void load_table(const std::string& path, const Table& table, const std::function<void(const Table&)>& load) {
  try {
    load(table);
  } catch (const Error& error) {
    throw Error(error.status(), detail::concat(path, ": ", error.what()));
  }
}

void load_file(const std::string& path, const std::function<void(const Table&)>& load) {
  load_table(path, read_toml(path), load);
}

/// A file that a variable names.
class NamedFile {
 public:
  explicit NamedFile(const char* name)
      : name_(name), path_(variable(name)), table_(load_variable(name, [this] { return read_toml(path_); })) {}

  void load(const std::function<void(const Table&)>& load) const {
    load_variable(name_, [&] { load_table(path_, table_, load); });
  }

 private:
  const char* name_;
  std::string path_;
  Table table_;
};

std::optional<NamedFile> named_file(const char* name) {
  return variable(name) != nullptr ? std::make_optional<NamedFile>(name) : std::nullopt;
}

void load_profile(Choice& choice) {
  if (const char* const profile = variable("PYDOCA_PROFILE")) {
    Table table;
    table["profile"] = profile;
    load_variable("PYDOCA_PROFILE", [&] { choose_topology(choice, table); });
  }
}

/// What the program has not chosen, from the environment. Files are read without the lock: a FIFO may keep the reader
/// waiting.
void load_environment(bool needs_topology, bool needs_timing) {
  const auto topology = needs_topology ? named_file("PYDOCA_TOPOLOGY") : std::nullopt;
  const auto timing = needs_timing ? named_file("PYDOCA_TIMING") : std::nullopt;
  Choice& choice = Choice::instance();
  const std::lock_guard lock(choice.mutex);
  needs_timing = needs_timing && !choice.timing;
  if (!choice.topology && topology.has_value()) {
    topology->load([&](const Table& table) { choose_topology(choice, table); });
  } else if (!choice.topology) {
    load_profile(choice);
  }
  if (needs_timing && timing.has_value()) {
    timing->load([&](const Table& table) { choose_timing(choice, read_timing_file(table)); });
  }
}

/// Which of the two this process has chosen.
struct Chosen {
  bool topology = false;
  bool timing = false;
};

Chosen chosen() {
  Choice& choice = Choice::instance();
  const std::lock_guard lock(choice.mutex);
  return {.topology = choice.topology, .timing = choice.timing};
}

}  // namespace

void load_environment() {
  const Chosen program = chosen();
  if (!program.topology || !program.timing) {
    load_environment(!program.topology, !program.timing);
  }
}

void set_topology(Topology topology) {
  Choice& choice = Choice::instance();
  const std::lock_guard lock(choice.mutex);
  replace_topology(std::move(topology));
  choice.topology = true;
  choice.table.reset();
}

const Topology& topology() {
  load_environment();
  return present_topology();
}

void load_topology(const Table& table) {
  Choice& choice = Choice::instance();
  const std::lock_guard lock(choice.mutex);
  choose_topology(choice, table);
}

void load_topology(const std::string& path) {
  load_file(path, [](const Table& table) { load_topology(table); });
}

void set_config(Config config) {
  load_environment(!chosen().topology, false);  // it may name functions
  Choice& choice = Choice::instance();
  const std::lock_guard lock(choice.mutex);
  choose_timing(choice, std::move(config));
}

void load_config(const Table& table) { set_config(read_config(table)); }

void load_config(const std::string& path) {
  load_file(path, [](const Table& table) { set_config(read_timing_file(table)); });
}

Config config() {
  load_environment();
  return present_config();
}

Timing timing_of(std::string_view device) {
  load_environment();
  return present_timing_of(device);
}

void remove_device(std::string_view selector) {
  load_environment();
  take_out(selector);
}

void restore_device(std::string_view selector) {
  load_environment();
  put_back(selector);
}

std::optional<Table> loaded_machine() {
  Choice& choice = Choice::instance();
  const std::lock_guard lock(choice.mutex);
  if (!choice.topology && !choice.timing) {
    return std::nullopt;
  }
  if (choice.topology && !choice.table.has_value()) {
    throw Error(Status::not_supported,
                "the topology of this process was set, not loaded, so that no table describes it for another process; "
                "use load_topology()");
  }
  Table table = choice.table.value_or(Table());
  if (!choice.topology) {
    table["profile"] = "bluefield3";
  }
  if (choice.timing) {
    table["timing"] = table_of(present_config());
  }
  return table;
}

}  // namespace pydoca::sim

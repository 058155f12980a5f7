#include "backend/sim/file/environment.hpp"
#include "backend/sim/file/sim_file.hpp"
#include "backend/sim/place/topology.hpp"
#include "backend/sim/time/models.hpp"
#include "backend/sim/time/timing_check.hpp"
#include "detail/concat.hpp"
#include "detail/table/read.hpp"

#include <cstdlib>
#include <functional>
#include <mutex>
#include <utility>

namespace pydoca::sim {

namespace {

/// What this process has instead of the default. Never destroyed: devices may be looked at while static destructors
/// run.
struct Choice {
  std::mutex mutex;
  bool topology = false;
  bool timing = false;
  std::optional<Table> table;  ///< that the topology was loaded from

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
  detail::require_known(table, "timing: table", {"timing"});
  const Value* const timing = table.find("timing");
  return timing != nullptr ? read_config(*timing) : Config{};
}

/// Calls load with the table of a file; what it throws begins with the file's name, as what read_toml() throws.
void load_file(const std::string& path, const std::function<void(const Table&)>& load) {
  const Table table = read_toml(path);
  try {
    load(table);
  } catch (const Error& error) {
    throw Error(error.status(), detail::concat(path, ": ", error.what()));
  }
}

void load_variable(const char* name, const std::function<void(const char*)>& load) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    return;
  }
  try {
    load(value);
  } catch (const Error& error) {
    throw Error(Status::invalid_value, detail::concat("the environment's ", name, ": ", error.what()));
  }
}

void load_environment_of(Choice& choice) {
  const bool needs_timing = !choice.timing;
  if (!choice.topology) {
    load_variable("PYDOCA_TOPOLOGY", [&](const char* path) {
      load_file(path, [&](const Table& table) { choose_topology(choice, table); });
    });
  }
  if (!choice.topology) {
    load_variable("PYDOCA_PROFILE", [&](const char* profile) {
      Table table;
      table["profile"] = profile;
      choose_topology(choice, table);
    });
  }
  if (needs_timing) {
    load_variable("PYDOCA_TIMING", [&](const char* path) {
      load_file(path, [&](const Table& table) { choose_timing(choice, read_timing_file(table)); });
    });
  }
}

}  // namespace

void load_environment() {
  Choice& choice = Choice::instance();
  const std::lock_guard lock(choice.mutex);
  if (!choice.topology || !choice.timing) {
    load_environment_of(choice);
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
  Choice& choice = Choice::instance();
  const std::lock_guard lock(choice.mutex);
  load_environment_of(choice);
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

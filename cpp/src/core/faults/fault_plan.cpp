#include "pydoca/backend/device.hpp"
#include "pydoca/device.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/faults.hpp"
#include "pydoca/log.hpp"

#include "core/device/visible_backends.hpp"
#include "core/faults/environment.hpp"
#include "detail/concat.hpp"
#include "detail/table/read.hpp"
#include "detail/text/variable.hpp"

#include <atomic>
#include <cstdlib>
#include <exception>
#include <utility>
#include <vector>

namespace pydoca {

std::shared_ptr<FaultPlan> FaultPlan::load(const Table& table) {
  detail::require_known(table, "fault plan: key", {"seed", "rule"});
  std::vector<FaultRule> rules;
  for (const Table* const keys : detail::to_tables(table, "rule", "fault plan")) {
    try {
      rules.push_back(read_fault_rule(*keys));
    } catch (const Error& error) {
      throw Error(error.status(), detail::concat("rule ", rules.size() + 1, ": ", error.what()));
    }
  }
  const Value* const seed = table.find("seed");
  return create(std::move(rules), seed == nullptr ? 0 : detail::to_number(*seed, "fault plan: seed", 0, UINT64_MAX));
}

std::shared_ptr<FaultPlan> FaultPlan::load(const std::string& path) {
  const Table table = read_toml(path);
  try {
    return load(table);
  } catch (const Error& error) {
    throw Error(error.status(), detail::concat(path, ": ", error.what()));
  }
}

std::shared_ptr<FaultPlan> FaultPlan::load_environment() {
  static std::atomic<bool> seen{false};
  if (seen.load()) {
    return nullptr;
  }
  const char* const path = detail::variable("PYDOCA_FAULTS");
  if (path == nullptr) {
    seen.store(true);  // what the program sets later is for the processes that it starts
    return nullptr;
  }
  std::shared_ptr<FaultPlan> plan = detail::load_variable("PYDOCA_FAULTS", [&] { return load(std::string(path)); });
  if (seen.exchange(true)) {
    return nullptr;  // another thread was faster
  }
  try {
    plan->install();
  } catch (const Error& error) {
    if (error.status() != Status::already_exist) {
      seen.store(false);
      throw;
    }
  }
  return plan;
}

void detail::load_fault_environment() {
  const std::shared_ptr<FaultPlan> plan = FaultPlan::load_environment();
  if (plan == nullptr) {
    return;
  }
  if (!plan->is_in_force()) {
    log::engine(log::Level::warning, "faults", [] {
      return concat("PYDOCA_FAULTS=", std::getenv("PYDOCA_FAULTS"), " is not used: a plan is in force");
    });
    return;
  }
  static std::shared_ptr<FaultPlan>& until_the_end = *new std::shared_ptr<FaultPlan>(plan);
  std::atexit([] { until_the_end->remove(); });
}

void FaultPlan::install_silently() {
  std::vector<backend::SharedProperties> present;  // looked at first, as that may fail
  for (backend::Backend* const backend : detail::visible_backends()) {
    std::vector<backend::SharedProperties> listed = backend->list();
    std::ranges::move(listed, std::back_inserter(present));
  }
  enter_force();
  for (const backend::SharedProperties& properties : present) {
    note_present(*properties);
  }
}

void FaultPlan::install() {
  install_silently();
  for (const DeviceInfo& info : open_devices()) {
    if (concerns(info.properties())) {
      log::engine(log::Level::warning, "faults", [&] {
        return detail::concat(info.name(),
                              " was open when the fault plan came into force, and has none of its faults; open it "
                              "again for a device that has them");
      });
    }
  }
}

void FaultPlan::remove() noexcept {
  if (!leave_force()) {
    return;
  }
  try {
    const std::vector<FaultReport> reports = report();
    for (std::size_t number = 0; number < reports.size(); ++number) {
      if (!reports[number].never.empty()) {
        log::engine(log::Level::warning, "faults", [&] {
          return detail::concat(describe(rules()[number], number), " has met nothing: ", reports[number].never);
        });
      }
    }
  } catch (const std::exception& error) {
    log::engine(log::Level::warning, "faults", error.what());
  }
}

}  // namespace pydoca

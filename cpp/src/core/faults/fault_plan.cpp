#include "pydoca/backend/device.hpp"
#include "pydoca/device.hpp"
#include "pydoca/faults.hpp"
#include "pydoca/log.hpp"

#include "core/device/visible_backends.hpp"
#include "detail/concat.hpp"

#include <exception>
#include <vector>

namespace pydoca {

void FaultPlan::install_silently() {
  enter_force();
  for (backend::Backend* const backend : detail::visible_backends()) {
    for (const backend::SharedProperties& properties : backend->list()) {
      note_present(*properties);
    }
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

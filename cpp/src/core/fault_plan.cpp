#include "pydoca/device.hpp"
#include "pydoca/faults.hpp"
#include "pydoca/log.hpp"

#include "detail/concat.hpp"

namespace pydoca {

void FaultPlan::install() {
  enter_force();
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

}  // namespace pydoca

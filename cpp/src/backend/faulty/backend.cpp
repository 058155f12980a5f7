#include "backend/faulty/backend.hpp"

#include "pydoca/device_properties.hpp"

#include "backend/faulty/device.hpp"
#include "backend/faulty/plan/plan.hpp"

#include <utility>

namespace pydoca::faulty {

std::unique_ptr<backend::Device> wrap(std::unique_ptr<backend::Device> device, const DeviceProperties& properties,
                                      std::size_t ordinal) {
  std::shared_ptr<Plan> plan = Plan::current();
  if (plan == nullptr || !plan->concerns(properties)) {
    return device;
  }
  return std::make_unique<Device>(std::move(device), std::move(plan), properties, ordinal);
}

void misreport(std::vector<backend::SharedProperties>& devices) {
  if (const std::shared_ptr<Plan> plan = Plan::current()) {
    plan->misreport(devices);
  }
}

std::uint64_t installation_for(const DeviceProperties& properties) noexcept {
  const std::shared_ptr<Plan> plan = Plan::current();
  return plan != nullptr && plan->concerns(properties) ? plan->installation() : 0;
}

}  // namespace pydoca::faulty

#include "pydoca/backend/device.hpp"
#include "pydoca/device_properties.hpp"

#include "backend/faulty/backend.hpp"
#include "backend/sim/backend.hpp"
#include "backend/verbs/backend.hpp"

#include <array>
#include <utility>

namespace pydoca::backend {

std::span<Backend* const> backends() {
  static const std::array<Backend*, 2> list{&sim::create(), &verbs::create()};
  return list;
}

std::unique_ptr<Device> with_faults(std::unique_ptr<Device> device, const DeviceProperties& properties,
                                    std::size_t ordinal) {
  return faulty::wrap(std::move(device), properties, ordinal);
}

void misreport(std::vector<SharedProperties>& devices) { faulty::misreport(devices); }

std::uint64_t fault_plan_of(const DeviceProperties& properties) noexcept {
  return faulty::installation_for(properties);
}

}  // namespace pydoca::backend

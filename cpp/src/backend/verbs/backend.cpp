#include "backend/verbs/backend.hpp"

#include "pydoca/device_properties.hpp"

#include "backend/verbs/adapter/adapter.hpp"
#include "backend/verbs/adapter/device_list.hpp"
#include "backend/verbs/device.hpp"
#include "backend/verbs/library/library.hpp"

namespace pydoca::verbs {

namespace {

class Backend final : public backend::Backend {
 public:
  std::string_view name() const noexcept override { return "verbs"; }
  std::string unavailable() const override {
    return library().reason.empty() ? DeviceList().reason() : library().reason;
  }
  std::vector<DeviceProperties> enumerate() override {
    std::vector<DeviceProperties> found;
    const DeviceList list;
    for (const ibv_device* const device : list.devices()) {
      found.push_back(properties_of(*device));
    }
    return found;
  }
  std::unique_ptr<backend::Device> open(const DeviceProperties& properties, std::size_t ordinal) override {
    return std::make_unique<Device>(properties.name, ordinal);
  }
  backend::AdoptedDevice adopt(void* protection_domain, std::size_t ordinal) override {
    if (!unavailable().empty()) {  // it cannot be a domain of a device then
      return backend::Backend::adopt(protection_domain, ordinal);
    }
    auto& domain = *static_cast<ibv_pd*>(protection_domain);
    return {.properties = properties_of(*domain.context->device), .device = std::make_unique<Device>(domain, ordinal)};
  }
};

}  // namespace

backend::Backend& create() {
  static auto* const backend = new Backend;  // never destroyed: device infos refer to it
  return *backend;
}

}  // namespace pydoca::verbs

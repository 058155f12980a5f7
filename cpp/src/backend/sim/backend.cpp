#include "backend/sim/backend.hpp"

#include "pydoca/device_properties.hpp"

#include "backend/sim/device.hpp"
#include "backend/sim/file/environment.hpp"
#include "backend/sim/place/topology.hpp"
#include "backend/sim/trace/recordings.hpp"

namespace pydoca::sim {

namespace {

class Backend final : public backend::Backend {
 public:
  std::string_view name() const noexcept override { return "sim"; }
  std::vector<DeviceProperties> enumerate() override {
    std::vector<DeviceProperties> functions;
    for (const backend::SharedProperties& properties : list()) {
      functions.push_back(*properties);
    }
    return functions;
  }
  std::string unavailable() const override {
    load_environment();
    return present_functions().empty() ? "its topology has no function that is present; load another one" : "";
  }
  std::vector<backend::SharedProperties> list() override {
    load_environment();
    return present_functions();
  }
  std::vector<backend::SharedProperties> find(std::string_view word) override {
    load_environment();
    return present_functions(word);
  }
  std::unique_ptr<backend::Device> open(const DeviceProperties& properties, std::size_t ordinal) override {
    return std::make_unique<Device>(find_present(properties), fabric(), ordinal);
  }
  std::unique_ptr<backend::Recordings> record_others(std::uint32_t capacity) override {
    return record_fabric(fabric(), capacity);
  }
};

}  // namespace

backend::Backend& create() {
  static auto* const backend = new Backend;  // never destroyed: device infos refer to it
  return *backend;
}

}  // namespace pydoca::sim

#include "pydoca/device_properties.hpp"
#include "pydoca/status.hpp"

#include "backend/verbs/backend.hpp"

namespace pydoca::verbs {

namespace {

constexpr const char* reason =
    "pydoca was built without rdma-core's headers; install libibverbs-dev and librdmacm-dev, and build it again";

/// The backend in a build without rdma-core's headers.
class Absent final : public backend::Backend {
 public:
  std::string_view name() const noexcept override { return "verbs"; }
  std::string unavailable() const override { return reason; }
  std::vector<DeviceProperties> enumerate() override { return {}; }
  std::unique_ptr<backend::Device> open(const DeviceProperties& /*properties*/, std::size_t /*ordinal*/) override {
    throw Error(Status::not_found, reason);
  }
};

}  // namespace

backend::Backend& create() {
  static auto* const backend = new Absent;  // never destroyed: device infos refer to it
  return *backend;
}

}  // namespace pydoca::verbs

#include "backend/verbs/backend.hpp"

#include "pydoca/status.hpp"

#include "backend/verbs/device_list.hpp"
#include "backend/verbs/library.hpp"
#include "detail/concat.hpp"

namespace pydoca::verbs {

namespace {

class Backend final : public backend::Backend {
 public:
  std::string_view name() const noexcept override { return "verbs"; }
  std::string unavailable() const override {
    return library().reason.empty() ? DeviceList().reason() : library().reason;
  }
  std::vector<backend::DeviceProperties> enumerate() override { return {}; }
  std::unique_ptr<backend::Device> open(const backend::DeviceProperties& properties, std::size_t /*ordinal*/) override {
    throw Error(Status::not_found, detail::concat("open ", properties.name, ": it has gone"));
  }
};

}  // namespace

backend::Backend& create() {
  static auto* const backend = new Backend;  // never destroyed: device infos refer to it
  return *backend;
}

}  // namespace pydoca::verbs

#pragma once

#include "pydoca/device.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/representor.hpp"

#include "base/handle.hpp"

#include <cstddef>
#include <doca_dev.h>
#include <functional>
#include <memory>
#include <optional>

struct doca_devinfo : pydoca::capi::Handle<"element of a device list"> {
  std::optional<pydoca::DeviceInfo> info;
};

struct doca_dev : pydoca::capi::Handle<"open device"> {
  std::shared_ptr<pydoca::Device> device;
  doca_devinfo* info = nullptr;
  std::size_t openings = 0;
};

namespace pydoca::capi {

/// The object of a device that open() opens, which counts how often it was opened. Throws what open() throws.
doca_dev* open_dev(const std::function<std::shared_ptr<Device>()>& open);

}  // namespace pydoca::capi

struct doca_devinfo_rep : pydoca::capi::Handle<"element of a representor list"> {
  std::shared_ptr<pydoca::Device> device;
  pydoca::RepresentorProperties properties;
};

struct doca_dev_rep : pydoca::capi::Handle<"open representor"> {
  std::shared_ptr<pydoca::Representor> representor;
  doca_devinfo_rep* info = nullptr;
};

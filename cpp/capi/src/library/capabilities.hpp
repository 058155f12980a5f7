/// Capabilities of devices, as a library's functions answer them.
#pragma once

#include "pydoca/device.hpp"

#include "base/call.hpp"
#include "common/dev.hpp"

namespace pydoca::capi {

/// Whether a device has something: supports(device) is true or false.
template <class Supports>
doca_error_t answer_support(const Call& call, const doca_devinfo* devinfo, Supports supports) noexcept {
  if (!call.has(devinfo)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return supports(*devinfo->info) ? DOCA_SUCCESS : DOCA_ERROR_NOT_SUPPORTED;
}

/// A limit of a device: read(device) gives it, or throws.
template <class Limit, class Read>
doca_error_t answer_limit(const Call& call, const doca_devinfo* devinfo, Limit* limit, Read read) noexcept {
  if (!call.has(devinfo, limit)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.ask([&] { *limit = read(*devinfo->info); });
}

}  // namespace pydoca::capi

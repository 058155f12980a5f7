#pragma once

#include <pydoca/device.hpp>

#include "convert/pybind.hpp"

#include <cstdint>

namespace pydoca::bindings {

class DeviceObject;

/// A Python object that uses devices, and that the end of a device's with block closes if it is idle. All that exist
/// are known. Needs the GIL.
class DeviceUser : NotCopied {
 public:
  /// Closes what is idle and was made with this opening of a device, the newest first.
  static void close_idle(const DeviceObject& device);
  /// The newest one that lends the device this memory of the process; null when none does.
  static DeviceUser* lender(const Device& device, std::uint64_t addr, std::uint64_t len) noexcept;

 protected:
  DeviceUser() noexcept;
  ~DeviceUser();

 private:
  virtual bool uses(const DeviceObject& device) const = 0;
  virtual bool lends(const Device& /*device*/, std::uint64_t /*addr*/, std::uint64_t /*len*/) const noexcept {
    return false;
  }
  /// Does nothing when something is in flight. Throws the exceptions of the application's callbacks.
  virtual void close_if_idle() = 0;

  DeviceUser* previous_;
  DeviceUser* next_ = nullptr;
};

}  // namespace pydoca::bindings

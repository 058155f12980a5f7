/// Python's Device and Representor. Each is one opening, closed once: by close() or at the object's end.
#pragma once

#include <pydoca/device.hpp>
#include <pydoca/representor.hpp>

#include "convert/pybind.hpp"

#include <memory>
#include <string>
#include <utility>

namespace pydoca::bindings {

class DeviceObject : NotCopied {
 public:
  explicit DeviceObject(std::shared_ptr<Device> device) noexcept : device_(std::move(device)) {}
  ~DeviceObject();

  /// The open device, for building objects on it. Throws bad_state once closed.
  const std::shared_ptr<Device>& get() const;
  /// The device in any state, for its information and for comparisons.
  const std::shared_ptr<Device>& shared() const noexcept { return device_; }
  bool is_open() const noexcept { return !closed_; }
  void enter() const { static_cast<void>(get()); }
  /// Closes the idle memory maps that were made with this opening, at the end of a with block.
  void release_idle() const;
  /// Idempotent. Throws in_use when this is the last opening and other objects use the device.
  void close();

 private:
  std::shared_ptr<Device> device_;
  bool closed_ = false;
};

class RepresentorObject {
 public:
  explicit RepresentorObject(std::shared_ptr<Representor> representor) noexcept
      : representor_(std::move(representor)) {}

  /// Throws bad_state once closed.
  const std::shared_ptr<Representor>& get() const;
  const std::shared_ptr<Representor>& shared() const noexcept { return representor_; }
  bool is_open() const noexcept { return representor_->is_open(); }
  void enter() const { static_cast<void>(get()); }
  /// Idempotent. Throws in_use while a server is on it.
  void close();

 private:
  std::shared_ptr<Representor> representor_;
};

}  // namespace pydoca::bindings

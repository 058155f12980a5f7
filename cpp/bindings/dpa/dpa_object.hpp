/// Python's DPA: its engine, and the handles of its kernels.
#pragma once

#include <pydoca/dpa.hpp>

#include "convert/pybind.hpp"
#include "device/device_object.hpp"
#include "device/device_user.hpp"

#include <memory>
#include <utility>

namespace pydoca::bindings {

/// The base of pydoca.Dpa, which starts Python's threads for the kernels of Python.
class DpaObject final : public DeviceUser {
 public:
  explicit DpaObject(py::object device);

  const std::shared_ptr<Dpa>& dpa() const noexcept { return dpa_; }
  const py::object& device() const noexcept { return device_; }
  void stop();
  void close();
  bool is_closed() const noexcept { return closed_; }

 private:
  bool uses(const DeviceObject& device) const override { return &device_.cast<const DeviceObject&>() == &device; }
  void close_if_idle() override;

  py::object device_;
  std::shared_ptr<Dpa> dpa_;
  bool closed_ = false;
};

/// A sync event for kernels.
class DpaSyncEventObject {
 public:
  explicit DpaSyncEventObject(std::shared_ptr<DpaSyncEvent> event) : event_(std::move(event)) {}

  const std::shared_ptr<DpaSyncEvent>& get() const noexcept { return event_; }

 private:
  std::shared_ptr<DpaSyncEvent> event_;
};

/// The engine's DPA of a pydoca.Dpa, or null for another object.
std::shared_ptr<Dpa> dpa_of(py::handle object);

}  // namespace pydoca::bindings

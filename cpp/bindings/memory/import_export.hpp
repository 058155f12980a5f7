/// The import of every kind of exported object.
#pragma once

#include "convert/python.hpp"
#include "convert/view.hpp"
#include "device/device_object.hpp"
#include "loop/blocking_call.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace pydoca::bindings {

/// The Device that object is. Throws TypeError for any other type.
const DeviceObject& to_device(py::handle object);

/// Calls Imported::create_from_export() on Python's device, without the GIL.
template <class Imported>
std::shared_ptr<Imported> import_export(const py::object& device, py::handle blob) {
  const std::shared_ptr<Device> opened = to_device(device).get();
  const std::vector<std::byte> bytes = copy_of(blob, "blob");
  std::shared_ptr<Imported> imported;
  call_blocking([&] { imported = Imported::create_from_export(opened, bytes); });
  drain_log();
  return imported;
}

}  // namespace pydoca::bindings

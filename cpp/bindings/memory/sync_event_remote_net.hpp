/// Python's SyncEventRemoteNet, an operand of tasks; and the import of every kind of exported object.
#pragma once

#include <pydoca/sync_event.hpp>

#include "convert/pybind.hpp"
#include "convert/python.hpp"
#include "loop/blocking_call.hpp"
#include "memory/mmap_object.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace pydoca::bindings {

/// Copies the bytes of any buffer: another thread may change the caller's bytes while the GIL is released.
std::vector<std::byte> copy_of(const py::object& blob);

/// Calls Imported::create_from_export() on Python's device, without the GIL.
template <class Imported>
std::shared_ptr<Imported> import_export(const py::object& device, const py::object& blob) {
  const std::shared_ptr<Device> opened = to_device(device).get();
  const std::vector<std::byte> bytes = copy_of(blob);
  std::shared_ptr<Imported> imported;
  call_blocking([&] { imported = Imported::create_from_export(opened, bytes); });
  drain_log();
  return imported;
}

/// A handle for the sync event of a network peer.
class SyncEventRemoteNetObject {
 public:
  SyncEventRemoteNetObject(py::object device, const py::object& blob)
      : device_(std::move(device)), handle_(import_export<SyncEventRemoteNet>(device_, blob)) {}

  SyncEventRemoteNet& get() const noexcept { return *handle_; }
  const std::shared_ptr<SyncEventRemoteNet>& shared() const noexcept { return handle_; }
  const py::object& device_ref() const noexcept { return device_; }
  bool is_closed() const noexcept { return handle_->is_closed(); }
  /// For with; throws bad_state when closed.
  void enter() const;
  void close() noexcept { handle_->close(); }

 private:
  py::object device_;
  std::shared_ptr<SyncEventRemoteNet> handle_;
};

}  // namespace pydoca::bindings

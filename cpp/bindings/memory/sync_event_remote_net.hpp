/// Python's SyncEventRemoteNet, an operand of tasks.
#pragma once

#include <pydoca/sync_event.hpp>

#include "convert/pybind.hpp"

#include <memory>
#include <utility>

namespace pydoca::bindings {

/// A handle for the sync event of a network peer.
class SyncEventRemoteNetObject {
 public:
  SyncEventRemoteNetObject(py::object device, std::shared_ptr<SyncEventRemoteNet> imported)
      : device_(std::move(device)), handle_(std::move(imported)) {}

  SyncEventRemoteNet& get() const noexcept { return *handle_; }
  const std::shared_ptr<SyncEventRemoteNet>& shared() const noexcept { return handle_; }
  const py::object& device_ref() const noexcept { return device_; }
  bool is_closed() const noexcept { return handle_->is_closed(); }
  /// Enters a with block; throws bad_state when closed.
  void enter() const;
  void close() noexcept { handle_->close(); }

 private:
  py::object device_;
  std::shared_ptr<SyncEventRemoteNet> handle_;
};

}  // namespace pydoca::bindings

/// Python's Mmap: the engine's map, with the Python objects that belong to it.
#pragma once

#include <pydoca/mmap.hpp>

#include "convert/collectable.hpp"
#include "convert/view.hpp"
#include "device/device_object.hpp"
#include "device/device_user.hpp"
#include "memory/import_export.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace pydoca::bindings {

/// Calls that wait for other processes release the GIL. Meanwhile every other call on the same map throws in_use.
/// Construction and destruction need the GIL.
class MmapObject final : public DeviceUser {
 public:
  MmapObject();
  /// A map of memory that another process exported, imported on device.
  MmapObject(py::object device, std::shared_ptr<Mmap> imported, py::object user_data);
  ~MmapObject();

  /// Throws in_use while another thread is in a call that waits.
  const std::shared_ptr<Mmap>& get() const {
    if (waiting_) [[unlikely]] {
      refuse_waiting();
    }
    return mmap_;
  }
  /// The map for calls that only read its state.
  const Mmap& look() const noexcept { return *mmap_; }
  /// The newest started map of this process's memory with these bytes, and with the device; null when there is none.
  static MmapObject* find(const Device& device, std::uint64_t addr, std::uint64_t len) noexcept {
    return static_cast<MmapObject*>(lender(device, addr, len));  // maps are all that lends
  }

  void add_device(py::object device);
  void remove_device(const py::object& device);
  /// Sets any object with the buffer protocol. Read-only memory removes write permission from the default permissions.
  /// Throws invalid_value when the caller asked for write permission.
  void set_memrange(py::object memory);
  void set_permissions(Access access);
  void set_user_data(py::object data);
  void set_free_callback(py::object callback);
  /// Only refuses: throws what the engine's map throws.
  void set_dmabuf_memrange(int dmabuf_fd, std::uint64_t addr, std::uint64_t offset, std::uint64_t len);
  void start();
  void stop();
  /// Releases its bufs that no task has, at the end of a with block.
  void release_idle() const;
  /// Idempotent. The free callback runs when the memory is released, at this object's end if bufs of a map with thread
  /// safety are out; throws its exception.
  void close();
  /// Starts unless started, for with; throws bad_state when closed.
  void enter();
  /// device: None means the only one.
  py::bytes export_pci(const py::object& device);
  py::bytes export_rdma(const py::object& device);
  /// For displays: its state, its exports as (how, name of the device), and at most limit of its bufs.
  py::tuple snapshot(std::size_t limit) const;
  const char* state() const noexcept;

  /// Throws bad_state when closed, and BufferError when the memory belongs to another process or is not set.
  Bytes bytes() const;
  /// An address was given out: the memory stays until the object's end.
  void pin(const std::shared_ptr<const void>& owner) { pinned_ = owner; }

  bool is_closed() const noexcept { return closed_; }
  /// The argument of set_memrange(), or None.
  const py::object& memory() const noexcept { return memory_; }
  const py::object& user_data() const noexcept { return user_data_; }
  const py::object& free_callback() const noexcept { return free_callback_; }
  const std::vector<py::object>& devices() const noexcept { return devices_; }

  /// Closes a map that the cycle collector has found, while all objects that the callback needs still exist.
  void finalize() noexcept;
  void each_reference(References& references) { references.drop(memory_, user_data_, free_callback_); }

 private:
  [[noreturn, gnu::cold]] static void refuse_waiting();
  bool uses(const DeviceObject& device) const override;
  bool lends(const Device& device, std::uint64_t addr, std::uint64_t len) const noexcept override;
  void close_if_idle() override;
  void require_writable(Access access) const;
  /// Calls exporting(map, device), a member function of the engine's Mmap.
  template <typename Export>
  py::bytes export_with(Export exporting, const char* how, const py::object& device);
  template <typename Call>
  void wait_for(Call call);
  /// Does what wait_for does; a failure because bufs are out names them.
  template <typename Call>
  void end_with(Call call);
  void let_go();
  void tell_withdrawn() const noexcept;

  std::shared_ptr<Mmap> mmap_;
  std::shared_ptr<const HeldBuffer> held_;
  std::shared_ptr<const void> pinned_;
  py::object memory_ = py::none();
  py::object user_data_ = py::none();
  py::object free_callback_ = py::none();
  std::vector<py::object> devices_;
  std::vector<std::pair<const char*, std::string>> exports_;  ///< exports since the last start, each once
  bool access_chosen_ = false;
  bool callback_due_ = false;  ///< started since the callback was set
  bool waiting_ = false;
  bool finalizing_ = false;
  bool closed_ = false;
  bool released_ = false;  ///< the memory was also released
};

inline Bytes bytes_of(const MmapObject& mmap) { return mmap.bytes(); }
inline void pin(MmapObject& mmap, const std::shared_ptr<const void>& owner) { mmap.pin(owner); }

}  // namespace pydoca::bindings

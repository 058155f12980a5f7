/// Memory as an operand: instead of a buf, a task may be given memory that a started map has.
#pragma once

#include <pydoca/buf_inventory.hpp>
#include <pydoca/device.hpp>

#include "convert/pybind.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

namespace pydoca::bindings {

/// A part of a map's range: addresses of the map's address space, bytes. The owner of mmap outlives it.
struct Area {
  const std::shared_ptr<Mmap>& mmap;
  std::uint64_t addr;
  std::uint64_t len;
};

/// Throws bad_state unless the map is started. what names the operand, for messages.
void require_started(const Mmap& map, std::string_view what);

/// Whether area_of() may take it: an Mmap, or any other object with the buffer protocol.
bool is_memory(PyObject* object) noexcept;

/// All of an Mmap, or the memory of an object with the buffer protocol, which lies in a started map of the device. name
/// is the operand's, for messages. is_written: whether the operation writes to it; the device checks the permissions of
/// the map, as it does for bufs.
/// Throws bad_state for a map that is not started. Throws invalid_value for memory that no map has or that is not
/// contiguous, and for read-only memory that is written.
Area area_of(const py::object& memory, const Device& device, const char* name, bool is_written);

/// Bufs over areas, for a context's tasks in flight. Getting and dropping one allocates nothing, unless more are out
/// than ever before. Needs the GIL.
class AreaBufs : NotCopied {
 public:
  /// A buf with one reference, which dec_refcount() gives back. is_data: whether all of it is data; else it is empty.
  /// Throws no_memory, and invalid_value for an area of 0 bytes.
  Buf& get(const Area& area, bool is_data);

 private:
  static constexpr std::size_t first_size = 64;

  std::shared_ptr<BufInventory> inventory_;
};

}  // namespace pydoca::bindings

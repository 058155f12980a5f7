#pragma once

#include "convert/pybind.hpp"
#include "convert/view.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace pydoca::bindings {

/// Memory that C++ writes, and that Python sees as a read-only array without a copy. Python's views keep the memory.
class SharedArray {
 public:
  /// size bytes of undefined value, or a copy of those at from.
  explicit SharedArray(std::size_t size, const void* from = nullptr);

  template <class T>
  T* values() const noexcept {
    return static_cast<T*>(held_->data());
  }
  /// A memoryview of that shape; format: of the items, as module struct has it.
  py::object view(const char* format, const std::vector<std::size_t>& shape) const;

 private:
  std::shared_ptr<const HeldBuffer> held_;  ///< of a bytearray: while it is held, nobody can resize it
  py::object bytes_;
};

}  // namespace pydoca::bindings

#pragma once

#include <pydoca/mmap.hpp>

#include "batch/shared_array.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace pydoca::bindings {

/// One copy of a batch, a row of the caller's array. The addresses are those of the maps' address spaces.
struct Descriptor {
  std::uint64_t source;
  std::uint64_t target;
  std::uint64_t size;  ///< bytes
  std::uint64_t user_data;
};

/// The rows of a batch: a copy, which the caller cannot change.
class Descriptors {
 public:
  /// array: a C-contiguous buffer of N x 4 unsigned 64-bit integers. Throws TypeError for an object without the buffer
  /// protocol and for items of another type, invalid_value for another shape and for gaps.
  static Descriptors of(py::handle array);

  std::span<const Descriptor> rows() const noexcept { return {array_.values<const Descriptor>(), size_}; }
  /// The rows as a memoryview of N x 4 integers.
  py::object view() const { return array_.view("Q", {size_, 4}); }
  /// Throws invalid_value for the first row that has no bytes or more than max_size, or that leaves a map.
  void require_valid(const Mmap& src, const Mmap& dst, std::uint64_t max_size) const;

 private:
  Descriptors(const void* rows, std::size_t size) : array_(size * sizeof(Descriptor), rows), size_(size) {}

  SharedArray array_;
  std::size_t size_;
};

}  // namespace pydoca::bindings

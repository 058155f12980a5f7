#include "batch/descriptors.hpp"

#include "convert/convert.hpp"

#include <algorithm>
#include <string_view>

namespace pydoca::bindings {

namespace {

constexpr const char* wanted_array =
    "memcpy_many: descriptors must be a C-contiguous array of N x 4 unsigned 64-bit integers (source address, "
    "destination address, bytes, user data), such as numpy.array(rows, dtype=numpy.uint64)";

/// A buffer with its shape and the type of its items, for as long as this lives.
class ShapedBuffer : NotCopied {
 public:
  explicit ShapedBuffer(py::handle object) {
    if (PyObject_CheckBuffer(object.ptr()) == 0) {
      throw py::type_error(std::string(wanted_array) + ", not " + type_name(object));
    }
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_FULL_RO) != 0) throw py::error_already_set();
  }
  ~ShapedBuffer() { PyBuffer_Release(&view_); }

  const void* data() const noexcept { return view_.buf; }
  std::size_t num_rows() const noexcept { return static_cast<std::size_t>(view_.shape[0]); }
  std::string_view format() const noexcept { return view_.format != nullptr ? view_.format : "B"; }
  /// Whether the items are unsigned, have 64 bits, and are in this machine's order of bytes.
  bool has_u64() const noexcept {
    std::string_view code = format();
    if (code.size() == 2 && std::string_view("@=<").find(code[0]) != std::string_view::npos) code.remove_prefix(1);
    return view_.itemsize == 8 && (code == "Q" || code == "L" || code == "N");
  }
  bool has_four_columns() const noexcept { return view_.ndim == 2 && view_.shape[1] == 4; }
  bool has_gaps() const noexcept { return PyBuffer_IsContiguous(&view_, 'C') == 0; }
  py::tuple shape() const {
    py::list sides;
    for (int axis = 0; axis < view_.ndim; ++axis) sides.append(view_.shape[axis]);
    return py::tuple(sides);
  }

 private:
  Py_buffer view_{};
};

std::string_view obstacle(const Descriptor& row, const Mmap& src, const Mmap& dst, std::uint64_t max_size) noexcept {
  if (row.size == 0) return "size";
  if (row.size > max_size) return "max_size";
  if (!src.contains(row.source, row.size)) return "src";
  return dst.contains(row.target, row.size) ? std::string_view() : "dst";
}

std::string explain(std::string_view obstacle, const Mmap& src, const Mmap& dst, std::uint64_t max_size) {
  if (obstacle == "size") return "a copy has at least 1 byte; leave the row out";
  if (obstacle == "max_size") {
    return format_text("the device copies at most {} bytes (max_buf_size); split the row", max_size);
  }
  const bool leaves_source = obstacle == "src";
  return format_text("the {} bytes are not in {}, the {}; give addresses of that map",
                     leaves_source ? "source" : "destination", leaves_source ? "src" : "dst",
                     (leaves_source ? src : dst).describe());
}

}  // namespace

Descriptors Descriptors::of(py::handle array) {
  const ShapedBuffer given(array);
  if (!given.has_u64()) {
    throw py::type_error(
        format_text("{}; the items of this {} are {!r}", wanted_array, type_name(array), to_str(given.format())));
  }
  if (!given.has_four_columns()) {
    raise(Status::invalid_value,
          format_text("{}; the shape of this {} is {}", wanted_array, type_name(array), given.shape()));
  }
  if (given.has_gaps()) {
    raise(Status::invalid_value, format_text("{}; this {} has gaps, and numpy.ascontiguousarray copies it without",
                                             wanted_array, type_name(array)));
  }
  return {given.data(), given.num_rows()};
}

void Descriptors::require_valid(const Mmap& src, const Mmap& dst, std::uint64_t max_size) const {
  const auto bad =
      std::ranges::find_if(rows(), [&](const Descriptor& row) { return !obstacle(row, src, dst, max_size).empty(); });
  if (bad == rows().end()) return;
  raise(Status::invalid_value, format_text("memcpy_many: row {} of {} ({} bytes from {:#x} to {:#x}): {}",
                                           bad - rows().begin(), rows().size(), bad->size, bad->source, bad->target,
                                           explain(obstacle(*bad, src, dst, max_size), src, dst, max_size)));
}

}  // namespace pydoca::bindings

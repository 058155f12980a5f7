#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/buf_source.hpp"
#include "pydoca/mmap.hpp"
#include "pydoca/status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#pragma GCC visibility push(default)

namespace pydoca {

/// A number of bufs of equal size in one memory map (DOCA Core Programming Guide, buffer pool: doca_buf_pool). Stopped
/// at first; bufs can be allocated while it is started. They are bufs as those of an inventory, and every task takes
/// them.
///
/// The elements lie one after another from the map's start on. Each begins at a multiple of the alignment, and takes
/// element_size() bytes, rounded up to the alignment.
///
/// Ownership: the pool holds its map until it is closed, and has the memory of its descriptors as BufSource says.
///
/// Thread safety: one thread at a time, together with its bufs. alloc() and giving bufs back allocate nothing.
class BufPool final : public BufSource {
 public:
  /// A stopped pool of num_elements bufs, 1..2^32-1, of element_size bytes, at least 1 (doca_buf_pool_create). Throws
  /// invalid_value for other numbers, for a null map and for one without a range, no_memory.
  static std::shared_ptr<BufPool> create(std::size_t num_elements, std::size_t element_size,
                                         std::shared_ptr<Mmap> mmap);

  /// Lets bufs be allocated (doca_buf_pool_start); does nothing when started. Throws bad_state once closed and unless
  /// the map is started, initialization when the map has too few bytes for all elements.
  void start();
  /// Ends that; does nothing when stopped. Throws in_use while a buf is out, unlike an inventory's.
  void stop();
  /// Stops, releases the descriptors for good and lets go of the map (doca_buf_pool_destroy). Idempotent. Throws in_use
  /// while a buf is out.
  void close();

  // Configuration, while stopped (bad_state).
  /// A power of 2, of which the addresses of all elements are multiples; 1 by default. invalid_value for another
  /// number.
  void set_element_alignment(std::size_t alignment);
  void set_user_data(std::uint64_t data);

  /// Any free buf, with all of its element as tailroom. It has a reference count of 1, which is the caller's, and holds
  /// the map. bad_state unless pool and map are started, empty when all are out; buf is then unchanged.
  Status alloc(Buf*& buf) noexcept;

  std::size_t element_size() const noexcept { return element_size_; }  ///< bytes
  std::size_t element_alignment() const noexcept { return alignment_; }
  /// Null once closed.
  const std::shared_ptr<Mmap>& mmap() const noexcept { return mmap_; }

 private:
  BufPool(std::size_t element_size, std::shared_ptr<Mmap> mmap) noexcept
      : BufSource("buf pool"), element_size_(element_size), mmap_(std::move(mmap)) {}
  ~BufPool() override = default;
  void require_stopped(const char* what) const;
  void place_elements();

  std::size_t element_size_;
  std::size_t alignment_ = 1;
  std::shared_ptr<Mmap> mmap_;
};

}  // namespace pydoca

#pragma GCC visibility pop

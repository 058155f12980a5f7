#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/buf_source.hpp"
#include "pydoca/mmap.hpp"
#include "pydoca/status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

#pragma GCC visibility push(default)

namespace pydoca {

/// A number of buf descriptors (DOCA Core Programming Guide, buffer inventory: doca_buf_inventory), for pieces of any
/// memory map. Stopped at first; bufs can be got while it is started.
///
/// Ownership: the inventory has the memory of its descriptors, at most 128 bytes each, and lives at least until the
/// last of its bufs is back, also when the program lets go of it.
///
/// Thread safety: one thread at a time, together with its bufs. Getting and returning bufs allocates nothing.
class BufInventory final : public BufSource {
 public:
  /// A stopped inventory of num_elements descriptors, 1..2^32-1 (doca_buf_inventory_create). Throws invalid_value for
  /// another number, no_memory.
  static std::shared_ptr<BufInventory> create(std::size_t num_elements);

  /// Lets bufs be got; does nothing when started. Throws bad_state once closed.
  void start();
  /// Ends that; bufs that are out stay valid. Does nothing when stopped.
  void stop();
  /// Stops, and releases the descriptors for good (doca_buf_inventory_destroy). Idempotent. Throws in_use while a buf
  /// is out.
  void close();
  /// Adds num_elements descriptors, 1..2^32-1 (doca_buf_inventory_expand). Bufs that are out stay valid. Allocates.
  /// Throws bad_state unless started, invalid_value for another number, no_memory.
  void expand(std::size_t num_elements);

  // Getting a buf of [addr, addr + len), a part of the map's range, addresses in the map's address space and lengths in
  // bytes. It has a reference count of 1, which is the caller's, and holds the map. invalid_value for a null map, for
  // len 0 and for a range that is not in the map's, bad_state unless inventory and map are started, no_memory when no
  // descriptor is free. After an error buf is unchanged.
  /// With the data section [data, data + data_len), which must lie in the range (invalid_value).
  Status get_by_args(const std::shared_ptr<Mmap>& mmap, std::uint64_t addr, std::size_t len, std::uint64_t data,
                     std::size_t data_len, Buf*& buf) noexcept;
  /// Gets a destination: its data section is empty, at addr.
  Status get_by_addr(const std::shared_ptr<Mmap>& mmap, std::uint64_t addr, std::size_t len, Buf*& buf) noexcept;
  /// Gets a source: all of the range is data.
  Status get_by_data(const std::shared_ptr<Mmap>& mmap, std::uint64_t data, std::size_t data_len, Buf*& buf) noexcept;
  /// A list of descriptors for the same memory as source's list, with the same sections (doca_buf_inventory_buf_dup);
  /// no bytes are copied. source may be of another inventory. not_permitted unless source is a head, bad_state unless
  /// the inventory is started, no_memory when fewer descriptors are free than the list has elements.
  Status dup(const Buf& source, Buf*& buf) noexcept;

  void set_user_data(std::uint64_t data) noexcept { set_data_word(data); }

 private:
  BufInventory() noexcept : BufSource("buf inventory") {}
  ~BufInventory() override = default;
  [[gnu::cold, gnu::noinline]] Status refusal_of(const Mmap& mmap) const noexcept;
  Status get(Mmap& mmap, std::uint64_t addr, std::size_t len, std::uint64_t data, std::size_t data_len,
             Buf*& buf) noexcept;
};

}  // namespace pydoca

#pragma GCC visibility pop

#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/mmap.hpp"
#include "pydoca/status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace pydoca {

/// A number of buf descriptors (DOCA Core Programming Guide, buffer inventory: doca_buf_inventory), for pieces of any
/// memory map. Stopped at first; bufs can be got while it is started.
///
/// Ownership: the inventory has the memory of its descriptors, at most 128 bytes each, and lives at least until the
/// last of its bufs is back, also when the program lets go of it.
///
/// Thread safety: one thread at a time, together with its bufs. Getting and returning bufs allocates nothing.
class BufInventory : public std::enable_shared_from_this<BufInventory> {
 public:
  /// A stopped inventory of num_elements descriptors, 1..2^32-1 (doca_buf_inventory_create). Throws invalid_value for
  /// another number, no_memory.
  static std::shared_ptr<BufInventory> create(std::size_t num_elements);
  ~BufInventory() = default;
  BufInventory(const BufInventory&) = delete;
  BufInventory& operator=(const BufInventory&) = delete;

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
  /// With an empty data section at addr: a destination.
  Status get_by_addr(const std::shared_ptr<Mmap>& mmap, std::uint64_t addr, std::size_t len, Buf*& buf) noexcept {
    return get_by_args(mmap, addr, len, addr, 0, buf);
  }
  /// With all of the range as data: a source.
  Status get_by_data(const std::shared_ptr<Mmap>& mmap, std::uint64_t data, std::size_t data_len, Buf*& buf) noexcept {
    return get_by_args(mmap, data, data_len, data, data_len, buf);
  }
  /// A list of descriptors for the same memory as source's list, with the same sections (doca_buf_inventory_buf_dup);
  /// no bytes are copied. source may be of another inventory. not_permitted unless source is a head, bad_state unless
  /// the inventory is started, no_memory when fewer descriptors are free than the list has elements.
  Status dup(const Buf& source, Buf*& buf) noexcept;

  bool is_started() const noexcept { return started_; }
  /// Descriptors in all; 0 once closed.
  std::size_t num_elements() const noexcept { return num_elements_; }
  std::size_t num_free_elements() const noexcept { return num_free_; }
  std::uint64_t user_data() const noexcept { return user_data_; }
  void set_user_data(std::uint64_t data) noexcept { user_data_ = data; }

 private:
  friend class Buf;
  BufInventory() = default;
  void add_slab(std::size_t count);
  Buf* take() noexcept;
  void put_back(Buf& buf) noexcept;

  struct Slab {
    std::unique_ptr<Buf[]> bufs;
    std::size_t count;
  };

  std::vector<Slab> slabs_;
  std::shared_ptr<BufInventory> self_;  ///< while a buf is out: the descriptors live here
  Buf* free_ = nullptr;
  std::size_t num_elements_ = 0;
  std::size_t num_free_ = 0;
  std::uint64_t user_data_ = 0;
  bool started_ = false;
};

}  // namespace pydoca

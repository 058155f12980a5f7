#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/mmap.hpp"
#include "pydoca/status.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace pydoca {

/// A fixed number of buf descriptors (DOCA Core: doca_buf_inventory), for any memory map. Not thread-safe. Getting and
/// returning bufs allocates nothing. It lives at least until the last of its bufs is back.
class BufInventory : public std::enable_shared_from_this<BufInventory> {
 public:
  /// num_elements > 0 (invalid_value). Throws no_memory.
  static std::shared_ptr<BufInventory> create(std::size_t num_elements);
  ~BufInventory() = default;
  BufInventory(const BufInventory&) = delete;
  BufInventory& operator=(const BufInventory&) = delete;

  void start();
  /// No retrieval from now on; bufs that are out stay valid.
  void stop();
  /// Stops and releases the descriptors; idempotent. Throws in_use while a buf is out.
  void close();
  /// Adds descriptors; allocates. Throws bad_state unless started.
  void expand(std::size_t num_elements);

  // All answer bad_state unless inventory and map are started, invalid_value for a range outside the map's, no_memory
  // when no descriptor is free. A new buf has reference count 1 and keeps the map alive.
  Status get_by_args(const std::shared_ptr<Mmap>& mmap, std::uint64_t addr, std::size_t len, std::uint64_t data,
                     std::size_t data_len, Buf*& buf) noexcept;
  /// Empty data at addr: a destination.
  Status get_by_addr(const std::shared_ptr<Mmap>& mmap, std::uint64_t addr, std::size_t len, Buf*& buf) noexcept {
    return get_by_args(mmap, addr, len, addr, 0, buf);
  }
  /// The whole range is data: a source.
  Status get_by_data(const std::shared_ptr<Mmap>& mmap, std::uint64_t data, std::size_t data_len, Buf*& buf) noexcept {
    return get_by_args(mmap, data, data_len, data, data_len, buf);
  }
  /// A copy of every element of source's list, sections as they are. not_permitted unless source is a head.
  Status dup(const Buf& source, Buf*& buf) noexcept;

  /// Those of map's that are out. Allocates: for messages.
  std::vector<const Buf*> bufs_of(const Mmap& map) const;

  bool is_started() const noexcept { return started_; }
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

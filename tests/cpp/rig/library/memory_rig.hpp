#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/buf_inventory.hpp"
#include "pydoca/mmap.hpp"

#include "rig/fake_device.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace pydoca {

inline std::uint64_t address_of(const void* pointer) { return std::bit_cast<std::uint64_t>(pointer); }

/// A started map of size bytes on one device.
class MappedBytes {
 public:
  MappedBytes(const std::shared_ptr<Device>& device, std::size_t size, Access access = Access::local_read_write)
      : bytes(size), mmap(Mmap::create()) {
    mmap->add_device(device);
    mmap->set_memrange(bytes.data(), size);
    mmap->set_permissions(access);
    mmap->start();
  }

  std::uint64_t addr(std::size_t offset = 0) const { return address_of(bytes.data()) + offset; }

  std::vector<std::byte> bytes;
  std::shared_ptr<Mmap> mmap;
};

/// A started inventory, whose bufs a test gets and frees in one line.
class Bufs {
 public:
  explicit Bufs(std::size_t count) : inventory(BufInventory::create(count)) { inventory->start(); }

  /// Empty data at offset.
  Buf* by_addr(const MappedBytes& memory, std::size_t offset, std::size_t len) {
    Buf* buf = nullptr;
    EXPECT_EQ(inventory->get_by_addr(memory.mmap, memory.addr(offset), len, buf), Status::success);
    return buf;
  }
  /// All data.
  Buf* by_data(const MappedBytes& memory, std::size_t offset, std::size_t len) {
    Buf* buf = nullptr;
    EXPECT_EQ(inventory->get_by_data(memory.mmap, memory.addr(offset), len, buf), Status::success);
    return buf;
  }
  /// The head of a list of so many elements of 8 bytes.
  Buf* list(const MappedBytes& memory, std::size_t elements, bool with_data) {
    const auto element = [&](std::size_t i) {
      return with_data ? by_data(memory, i * 8, 8) : by_addr(memory, i * 8, 8);
    };
    Buf* const head = element(0);
    for (std::size_t i = 1; i < elements; ++i) {
      EXPECT_EQ(head->chain(*element(i)), Status::success);
    }
    return head;
  }
  static void free(std::initializer_list<Buf*> heads) {
    for (Buf* const head : heads) {
      EXPECT_EQ(head->dec_refcount(), Status::success);
    }
  }

  std::shared_ptr<BufInventory> inventory;
};

}  // namespace pydoca

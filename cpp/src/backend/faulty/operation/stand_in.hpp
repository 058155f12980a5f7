#pragma once

#include "pydoca/backend/device.hpp"
#include "pydoca/backend/memory.hpp"
#include "pydoca/segment.hpp"
#include "pydoca/status.hpp"

#include "backend/faulty/operation/data.hpp"
#include "backend/faulty/operation/lane.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace pydoca::faulty {

/// An operation that the device is given in place of another one, or after it.
template <class Operation>
struct StandIn {
  std::shared_ptr<Operation> operation;
  Operation* original = nullptr;
  Lane<Operation>* lane = nullptr;
  bool is_second = false;        ///< a duplicate: the original has been done
  std::vector<Segment> source;   ///< what it reads
  std::vector<std::byte> bytes;  ///< the memory behind source, if that is a copy
  std::unique_ptr<backend::MemoryRegion> region;
  std::vector<backend::MemoryRegion*> regions;

  /// Reads the first length bytes of the original's source only.
  void cut(const Segment* from, std::uint64_t length) {
    std::uint64_t left = length;
    for (; from != nullptr && (left != 0 || source.empty()); from = from->next) {
      source.push_back(*from);
      source.back().data_len = left < from->data_len ? left : from->data_len;
      left -= source.back().data_len;
    }
    chain(length);
  }
  /// Reads a copy of the original's source instead, changed as the rule says. Throws io_failed when the source cannot
  /// be read, and what the device does.
  void copy(const Segment* from, std::uint64_t length, const Fault& fault, backend::Device& device,
            std::size_t ordinal) {
    bytes.resize(length);
    if (!gather(bytes, from)) {
      throw Error(Status::io_failed, "corrupt an operation: its source cannot be read");
    }
    corrupt(bytes, fault);
    region = device.register_memory({.addr = bytes.data(), .len = length, .location = {}}, Access::local_read_write);
    regions.assign(ordinal + 1, nullptr);
    regions[ordinal] = region.get();
    const auto head = reinterpret_cast<std::uint64_t>(bytes.data());
    source.push_back(
        {.regions = regions.data(), .head = head, .len = length, .data = head, .data_len = length, .next = nullptr});
    chain(length);
  }

 private:
  void chain(std::uint64_t length) noexcept {
    for (std::size_t number = 0; number < source.size(); ++number) {
      source[number].next = number + 1 < source.size() ? &source[number + 1] : nullptr;
    }
    set_source(*operation, source.empty() ? nullptr : source.data(), length);
  }
};

}  // namespace pydoca::faulty

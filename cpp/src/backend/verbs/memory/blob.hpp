#pragma once

#include "pydoca/status.hpp"
#include "pydoca/types.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pydoca::verbs {

/// Memory that network peers may reach: where it lies in the exporter, and the key to it. Unlike the simulator's, such
/// a blob is a capability: the device checks only the key.
struct MemoryBlob {
  std::uint64_t base = 0;  ///< an address of the exporter
  std::uint64_t length = 0;
  std::uint32_t rkey = 0;
  Access access{};  ///< RDMA flags
  Gid gid{};        ///< the GID of the exporter's port

  bool operator==(const MemoryBlob&) const = default;
};

/// A sync event's counter.
struct CounterBlob {
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  Gid gid{};

  bool operator==(const CounterBlob&) const = default;
};

/// One end of a connection that is to be made.
struct PairBlob {
  std::uint32_t number = 0;        ///< the queue pair's, 24 bits
  std::uint32_t first_packet = 0;  ///< its packet sequence number, 24 bits
  std::uint16_t lid = 0;           ///< 0 on Ethernet
  std::uint8_t mtu = 0;            ///< enum ibv_mtu
  std::uint8_t max_reads = 0;      ///< reads and atomics that it answers at a time
  Gid gid{};

  bool operator==(const PairBlob&) const = default;
};

std::vector<std::byte> encode(const MemoryBlob& blob);
std::vector<std::byte> encode(const CounterBlob& blob);
std::vector<std::byte> encode(const PairBlob& blob);

/// Read what encode() wrote of the same type and nothing else: any changed, missing or further byte is refused.
/// unsupported_version for another version's blob, invalid_value otherwise.
Status parse(std::span<const std::byte> bytes, MemoryBlob& blob) noexcept;
Status parse(std::span<const std::byte> bytes, CounterBlob& blob) noexcept;
Status parse(std::span<const std::byte> bytes, PairBlob& blob) noexcept;

}  // namespace pydoca::verbs

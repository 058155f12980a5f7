#pragma once

#include "pydoca/status.hpp"
#include "pydoca/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace pydoca::sim {

using Key = std::array<std::byte, 16>;

/// What was exported. The blob contains the numbers.
enum class BlobType : std::uint8_t { memory = 1, pci_counter = 2, net_counter = 3, net_memory = 4, queue_pair = 5 };
/// The name in messages, such as "a memory map".
std::string_view name_of(BlobType type) noexcept;

/// The exporting function: its PCI address in the long form.
using FunctionName = std::array<char, 12>;

inline constexpr Access rdma_flags = Access::rdma_read | Access::rdma_write | Access::rdma_atomic;

/// The content of an export's blob: where its owner listens, and which of the owner's exports it names. A locator, not
/// a capability: the owner checks the importer, and the owner's answer, not the blob, says what may be reached.
struct Blob {
  BlobType type = BlobType::memory;
  std::uint64_t epoch = 0;             ///< the slot's epoch; an export that has ended leaves it behind
  Key nonce{};                         ///< the export's
  std::uint64_t owner_start_time = 0;  ///< clock ticks since boot
  std::uint32_t owner_uid = 0;
  std::uint32_t owner_pid = 0;  ///< the owner's PID in its own PID namespace
  std::uint32_t pid_namespace = 0;
  std::uint32_t slot = 0;  ///< an index into the owner's table of exports
  std::uint64_t base = 0;  ///< an address of the owner
  std::uint64_t length = 0;
  Access access{};  ///< pci_read_only or pci_read_write; net_memory has RDMA flags
  Key boot_id{};
  std::uint64_t fabric_hash = 0;
  Key socket_key{};  ///< where the owner listens
  FunctionName pci_addr{};

  bool operator==(const Blob&) const = default;
};

inline constexpr std::size_t blob_size = 144;
inline constexpr std::uint16_t blob_version = 2;

std::array<std::byte, blob_size> encode(const Blob& blob) noexcept;

/// Reads what encode() wrote and nothing else: any changed, missing or further byte is refused. unsupported_version for
/// another version's blob, invalid_value otherwise. Reads each byte at most twice, allocates nothing.
Status parse(std::span<const std::byte> bytes, Blob& blob) noexcept;

/// Whether the bytes begin as a blob of this type does; the rest may be damaged.
bool claims_type(std::span<const std::byte> bytes, BlobType type) noexcept;

/// A number of the process and function that own memory or a queue pair, different for each.
std::uint64_t origin_of(const Blob& blob) noexcept;

/// A number of the fabric, as a blob has it.
std::uint64_t fabric_hash(std::string_view fabric) noexcept;

}  // namespace pydoca::sim

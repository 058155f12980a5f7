#include "backend/sim/memory/blob.hpp"

#include "detail/blob_codec.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

namespace pydoca::sim {

namespace {

using detail::checksum;
using Reader = detail::BlobReader;
using Writer = detail::BlobWriter;

// Layout, little-endian:
//   0  8 magic        24 16 nonce        56 8 base      76  4 owner pid     104 16 socket key
//   8  2 version      40  8 start time   64 8 length    80 16 boot id       120 12 PCI address
//  10  2 size         48  4 owner uid    72 4 access    96  8 fabric hash   132  4 namespace of the pid
//  12  4 flags        52  4 slot                                            136  8 checksum of all before
//  16  8 epoch
constexpr std::string_view magic = "PYDOCAX1";
constexpr std::uint32_t flags_sim = 0x0100;  // backend sim (1); the lowest byte is the type
constexpr std::size_t checksum_offset = 136;
static_assert(checksum_offset + sizeof(std::uint64_t) == blob_size && blob_size < 512);

bool is_magic(std::span<const std::byte> bytes) noexcept {
  return std::ranges::equal(bytes, magic, {}, {}, [](char c) { return static_cast<std::byte>(c); });
}

bool is_consistent(const Blob& blob) noexcept {
  const bool one_flag = blob.access == Access::pci_read_only || blob.access == Access::pci_read_write;
  const bool for_network = allows(blob.access, rdma_flags) && (blob.access & rdma_flags) == blob.access;
  return (blob.type == BlobType::net_memory ? for_network : one_flag) && blob.length != 0 &&
         blob.base <= std::numeric_limits<std::uint64_t>::max() - blob.length;
}

bool read_type(std::uint32_t flags, BlobType& type) noexcept {
  type = static_cast<BlobType>(flags & 0xff);
  return (flags & ~std::uint32_t{0xff}) == flags_sim && type >= BlobType::memory && type <= BlobType::queue_pair;
}

/// The fields between flags and checksum.
void read_fields(Reader reader, Blob& blob) noexcept {
  blob.epoch = reader.number<std::uint64_t>();
  reader.bytes(blob.nonce);
  blob.owner_start_time = reader.number<std::uint64_t>();
  blob.owner_uid = reader.number<std::uint32_t>();
  blob.slot = reader.number<std::uint32_t>();
  blob.base = reader.number<std::uint64_t>();
  blob.length = reader.number<std::uint64_t>();
  blob.access = static_cast<Access>(reader.number<std::uint32_t>());
  blob.owner_pid = reader.number<std::uint32_t>();
  reader.bytes(blob.boot_id);
  blob.fabric_hash = reader.number<std::uint64_t>();
  reader.bytes(blob.socket_key);
  reader.text(blob.pci_addr);
  blob.pid_namespace = reader.number<std::uint32_t>();
}

}  // namespace

std::string_view name_of(BlobType type) noexcept {
  switch (type) {
    case BlobType::memory:
      return "a memory map";
    case BlobType::pci_counter:
      return "a sync event, for the other side of a PCIe link";
    case BlobType::net_counter:
      return "a sync event, for a network peer";
    case BlobType::net_memory:
      return "a memory map, for a network peer";
    case BlobType::queue_pair:
      break;
  }
  return "an RDMA connection";
}

std::array<std::byte, blob_size> encode(const Blob& blob) noexcept {
  std::array<std::byte, blob_size> bytes{};
  Writer writer(bytes);
  writer.text(magic);
  writer.number(blob_version);
  writer.number(static_cast<std::uint16_t>(blob_size));
  writer.number(flags_sim | static_cast<std::uint32_t>(blob.type));
  writer.number(blob.epoch);
  writer.bytes(blob.nonce);
  writer.number(blob.owner_start_time);
  writer.number(blob.owner_uid);
  writer.number(blob.slot);
  writer.number(blob.base);
  writer.number(blob.length);
  writer.number(static_cast<std::uint32_t>(blob.access));
  writer.number(blob.owner_pid);
  writer.bytes(blob.boot_id);
  writer.number(blob.fabric_hash);
  writer.bytes(blob.socket_key);
  writer.text(blob.pci_addr);
  writer.number(blob.pid_namespace);
  writer.number(checksum(std::span(bytes).first(checksum_offset)));
  return bytes;
}

Status parse(std::span<const std::byte> bytes, Blob& blob) noexcept {
  constexpr std::size_t version_end = 10;
  if (bytes.size() < version_end || !is_magic(bytes.first(magic.size()))) {
    return Status::invalid_value;
  }
  // Another version may have any size, so that this comes first.
  if (Reader(bytes.subspan(magic.size())).number<std::uint16_t>() != blob_version) {
    return Status::unsupported_version;
  }
  if (bytes.size() != blob_size ||
      Reader(bytes.subspan(checksum_offset)).number<std::uint64_t>() != checksum(bytes.first(checksum_offset))) {
    return Status::invalid_value;
  }
  Reader reader(bytes.subspan(version_end));
  Blob fields;
  if (reader.number<std::uint16_t>() != blob_size || !read_type(reader.number<std::uint32_t>(), fields.type)) {
    return Status::invalid_value;
  }
  read_fields(reader, fields);
  if (!is_consistent(fields)) {
    return Status::invalid_value;
  }
  blob = fields;
  return Status::success;
}

bool claims_type(std::span<const std::byte> bytes, BlobType type) noexcept {
  constexpr std::size_t type_offset = 12;
  return bytes.size() > type_offset && is_magic(bytes.first(magic.size())) &&
         bytes[type_offset] == static_cast<std::byte>(type);
}

std::uint64_t origin_of(const Blob& blob) noexcept {
  std::array<std::byte, sizeof blob.socket_key + sizeof blob.pci_addr> bytes;
  const auto end = std::ranges::copy(blob.socket_key, bytes.begin()).out;
  std::ranges::copy(std::as_bytes(std::span(blob.pci_addr)), end);
  return checksum(bytes);
}

std::uint64_t fabric_hash(std::string_view fabric) noexcept { return checksum(std::as_bytes(std::span(fabric))); }

}  // namespace pydoca::sim

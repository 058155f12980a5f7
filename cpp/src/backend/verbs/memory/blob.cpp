#include "backend/verbs/memory/blob.hpp"

#include "detail/blob_codec.hpp"

#include <algorithm>
#include <limits>
#include <string_view>

namespace pydoca::verbs {

namespace {

using detail::BlobReader;
using detail::BlobWriter;

// Layout, little-endian: 8 magic, 2 version, 2 size, 4 type, the type's fields, 8 checksum of all before.
constexpr std::string_view magic = "PYDOCAV1";
constexpr std::uint16_t version = 1;
constexpr std::size_t head_size = 16;
constexpr std::size_t tail_size = sizeof(std::uint64_t);

enum class BlobType : std::uint32_t { memory = 1, counter = 2, pair = 3 };

constexpr std::size_t size_of(BlobType type) noexcept {
  constexpr std::size_t gid = sizeof(Gid);
  switch (type) {
    case BlobType::memory:
      return head_size + 8 + 8 + 4 + 4 + gid + tail_size;
    case BlobType::counter:
      return head_size + 8 + 4 + gid + tail_size;
    case BlobType::pair:
      return head_size + 4 + 4 + 2 + 1 + 1 + gid + tail_size;
  }
  return 0;
}

/// write_fields has a BlobWriter write the type's fields.
template <class WriteFields>
std::vector<std::byte> seal(BlobType type, WriteFields write_fields) {
  std::vector<std::byte> bytes(size_of(type));
  BlobWriter writer(bytes);
  writer.text(magic);
  writer.number(version);
  writer.number(static_cast<std::uint16_t>(bytes.size()));
  writer.number(static_cast<std::uint32_t>(type));
  write_fields(writer);
  writer.number(detail::checksum(std::span(bytes).first(bytes.size() - tail_size)));
  return bytes;
}

/// success: the bytes at head_size are the type's fields, as they were written.
Status check(std::span<const std::byte> bytes, BlobType type) noexcept {
  if (bytes.size() < magic.size() + sizeof version ||
      !std::ranges::equal(bytes.first(magic.size()), std::as_bytes(std::span(magic)))) {
    return Status::invalid_value;
  }
  BlobReader reader(bytes.subspan(magic.size()));
  if (reader.number<std::uint16_t>() != version) {  // another version may have any size
    return Status::unsupported_version;
  }
  const std::size_t size = size_of(type);
  if (bytes.size() != size || reader.number<std::uint16_t>() != size ||
      reader.number<std::uint32_t>() != static_cast<std::uint32_t>(type)) {
    return Status::invalid_value;
  }
  const auto sum = BlobReader(bytes.last(tail_size)).number<std::uint64_t>();
  return sum == detail::checksum(bytes.first(size - tail_size)) ? Status::success : Status::invalid_value;
}

constexpr std::uint32_t rdma_flags =
    static_cast<std::uint32_t>(Access::rdma_read | Access::rdma_write | Access::rdma_atomic);

bool is_consistent(const MemoryBlob& blob) noexcept {
  const auto mask = static_cast<std::uint32_t>(blob.access);
  return mask != 0 && (mask & ~rdma_flags) == 0 && blob.length != 0 &&
         blob.base <= std::numeric_limits<std::uint64_t>::max() - blob.length;
}

bool is_consistent(const PairBlob& blob) noexcept {
  constexpr std::uint32_t limit = 1U << 24;
  return blob.number < limit && blob.first_packet < limit && blob.mtu >= 1 && blob.mtu <= 5;
}

}  // namespace

std::vector<std::byte> encode(const MemoryBlob& blob) {
  return seal(BlobType::memory, [&](BlobWriter& writer) {
    writer.number(blob.base);
    writer.number(blob.length);
    writer.number(blob.rkey);
    writer.number(static_cast<std::uint32_t>(blob.access));
    writer.bytes(std::as_bytes(std::span(blob.gid)));
  });
}

std::vector<std::byte> encode(const CounterBlob& blob) {
  return seal(BlobType::counter, [&](BlobWriter& writer) {
    writer.number(blob.address);
    writer.number(blob.rkey);
    writer.bytes(std::as_bytes(std::span(blob.gid)));
  });
}

std::vector<std::byte> encode(const PairBlob& blob) {
  return seal(BlobType::pair, [&](BlobWriter& writer) {
    writer.number(blob.number);
    writer.number(blob.first_packet);
    writer.number(blob.lid);
    writer.number(blob.mtu);
    writer.number(blob.max_reads);
    writer.bytes(std::as_bytes(std::span(blob.gid)));
  });
}

Status parse(std::span<const std::byte> bytes, MemoryBlob& blob) noexcept {
  if (const Status status = check(bytes, BlobType::memory); status != Status::success) {
    return status;
  }
  BlobReader reader(bytes.subspan(head_size));
  MemoryBlob fields;
  fields.base = reader.number<std::uint64_t>();
  fields.length = reader.number<std::uint64_t>();
  fields.rkey = reader.number<std::uint32_t>();
  fields.access = static_cast<Access>(reader.number<std::uint32_t>());
  reader.bytes(std::as_writable_bytes(std::span(fields.gid)));
  if (!is_consistent(fields)) {
    return Status::invalid_value;
  }
  blob = fields;
  return Status::success;
}

Status parse(std::span<const std::byte> bytes, CounterBlob& blob) noexcept {
  if (const Status status = check(bytes, BlobType::counter); status != Status::success) {
    return status;
  }
  BlobReader reader(bytes.subspan(head_size));
  CounterBlob fields;
  fields.address = reader.number<std::uint64_t>();
  fields.rkey = reader.number<std::uint32_t>();
  reader.bytes(std::as_writable_bytes(std::span(fields.gid)));
  if (fields.address == 0 || fields.address % sizeof(std::uint64_t) != 0) {
    return Status::invalid_value;
  }
  blob = fields;
  return Status::success;
}

Status parse(std::span<const std::byte> bytes, PairBlob& blob) noexcept {
  if (const Status status = check(bytes, BlobType::pair); status != Status::success) {
    return status;
  }
  BlobReader reader(bytes.subspan(head_size));
  PairBlob fields;
  fields.number = reader.number<std::uint32_t>();
  fields.first_packet = reader.number<std::uint32_t>();
  fields.lid = reader.number<std::uint16_t>();
  fields.mtu = reader.number<std::uint8_t>();
  fields.max_reads = reader.number<std::uint8_t>();
  reader.bytes(std::as_writable_bytes(std::span(fields.gid)));
  if (!is_consistent(fields)) {
    return Status::invalid_value;
  }
  blob = fields;
  return Status::success;
}

}  // namespace pydoca::verbs

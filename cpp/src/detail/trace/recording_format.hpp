#pragma once

#include "pydoca/trace.hpp"

#include "detail/thread/atomic.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

/// The file of a recording: a header, a table of names, then one ring of records for each thread. It belongs to the
/// process that records; a tracer of another process reads it. Numbers are in this machine's byte order, and all files
/// of a trace are of one machine.
namespace pydoca::detail::trace {

inline constexpr std::uint64_t file_magic = 0x3145434152545950;  // "PYTRACE1"
inline constexpr std::uint32_t max_rings = 32;
inline constexpr std::uint32_t max_names = 4096;
inline constexpr std::uint32_t min_capacity = 1024;  ///< records of a ring, a power of two
inline constexpr std::uint32_t max_capacity = std::uint32_t{1} << 16;
inline constexpr std::size_t page_size = 65536;  ///< the largest pages that Linux has on these processors

/// What a time of a record counts.
enum class Ticks : std::uint32_t { processor_cycles = 1, nanoseconds = 2, virtual_nanoseconds = 3 };

struct FileHeader {
  Atomic<std::uint64_t> magic;  ///< written last
  Atomic<std::uint32_t> ticks;
  Atomic<std::uint32_t> capacity;
  Atomic<std::uint32_t> process;
  Atomic<std::uint32_t> name;       ///< the process's name
  Atomic<std::uint32_t> num_names;  ///< names that were begun; each says whether it is complete
  Atomic<std::uint32_t> num_rings;  ///< rings that were taken
  Atomic<std::uint64_t> homeless;   ///< events of threads that found no ring
};

/// A name that records refer to by its index. Index 0 is none.
struct NameEntry {
  static constexpr std::size_t max_text = 112;
  Atomic<std::uint32_t> complete;  ///< 1, written last
  Atomic<std::uint16_t> kind;      ///< TraceNameKind
  Atomic<std::uint16_t> length;
  Atomic<std::uint32_t> parent;
  Atomic<std::uint32_t> number;
  std::array<Atomic<std::uint64_t>, max_text / 8> text;
};
static_assert(sizeof(NameEntry) == 128);

/// One event. Its words are written with plain stores, one by one: a reader takes each once and checks it.
struct Record {
  Atomic<std::uint64_t> time;  ///< counted in ticks
  Atomic<std::uint64_t> id;
  Atomic<std::uint64_t> value;
  Atomic<std::uint64_t> what;  ///< subject, kind, detail and status, as pack() says
};
static_assert(sizeof(Record) == 32);

/// kind 8 bits, detail 8 bits, status 16 bits, subject 32 bits.
constexpr std::uint64_t pack(TraceEventKind kind, std::uint8_t detail, std::uint16_t status,
                             std::uint32_t subject) noexcept {
  return std::uint64_t{static_cast<std::uint8_t>(kind)} | std::uint64_t{detail} << 8U | std::uint64_t{status} << 16U |
         std::uint64_t{subject} << 32U;
}
/// Two numbers of 32 bits in one word; larger ones count as the largest.
constexpr std::uint64_t pack_pair(std::uint64_t high, std::uint64_t low) noexcept {
  constexpr std::uint64_t most = UINT32_MAX;
  return (high < most ? high : most) << 32U | (low < most ? low : most);
}

struct alignas(64) RingHeader {
  Atomic<std::uint64_t> head;  ///< records that were ever written; the newest are in the ring
  Atomic<std::uint32_t> thread;
  std::array<Atomic<std::uint64_t>, 2> name;  ///< the thread's, as the kernel has it
};
static_assert(sizeof(RingHeader) == 64);

inline constexpr std::size_t names_at = 4096;
inline constexpr std::size_t rings_at = names_at + max_names * sizeof(NameEntry);
inline constexpr std::size_t records_at = rings_at + page_size;
static_assert(rings_at % 4096 == 0 && max_rings * sizeof(RingHeader) <= page_size);

constexpr std::size_t records_offset(std::uint32_t ring, std::uint32_t capacity) noexcept {
  return records_at + std::size_t{ring} * capacity * sizeof(Record);
}
constexpr std::size_t file_size(std::uint32_t capacity) noexcept { return records_offset(max_rings, capacity); }

}  // namespace pydoca::detail::trace

#pragma once

#include "pydoca/segment.hpp"
#include "pydoca/status.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pydoca::sim {

/// What another process owns, or can cut short, is copied through a buffer of this size, as it may go at any time.
inline constexpr std::size_t run_bounce_size = std::size_t{16} * 1024;

/// The data of a list that can_gather() has checked, run after run, as bytes of this process.
class ReadRuns {
 public:
  ReadRuns(const Segment* list, std::uint64_t length, std::size_t ordinal) noexcept
      : segment_(list), left_(length), ordinal_(ordinal) {}

  /// The next bytes, until the next call; at most max_run, and none at the end. io_failed when the memory was
  /// withdrawn.
  Status next(std::span<const std::byte>& run) noexcept;

  static constexpr std::uint64_t max_run = std::uint64_t{256} * 1024;

 private:
  const Segment* segment_;
  std::uint64_t done_ = 0;  ///< bytes of segment_
  std::uint64_t left_;      ///< bytes of the list
  const std::size_t ordinal_;
  std::array<std::byte, run_bounce_size> bounce_;
};

/// The tailrooms of a list that can_scatter() has checked, run after run, as bytes of this process.
class WriteRuns {
 public:
  WriteRuns(const Segment* list, std::size_t ordinal) noexcept : segment_(list), ordinal_(ordinal) {}

  /// Room for the bytes that follow the written ones; at most ReadRuns::max_run, and none at the end.
  std::span<std::byte> next() noexcept;
  /// So many bytes of that room are written. io_failed when the memory was withdrawn.
  Status write(std::size_t count) noexcept;

 private:
  const Segment* segment_;
  std::uint64_t done_ = 0;  ///< bytes of segment_
  const std::size_t ordinal_;
  std::array<std::byte, run_bounce_size> bounce_;
};

}  // namespace pydoca::sim

#pragma once

#include "pydoca/trace.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pydoca::detail::trace {

/// Both clocks at one moment.
struct ClockPair {
  std::uint64_t cycles = 0;
  std::uint64_t nanoseconds = 0;

  static ClockPair now() noexcept;
};

/// The part of a recording that a trace wants, and how its cycles become nanoseconds.
class Window {
 public:
  /// It ends at end_ns; end is later, for the rate.
  Window(const ClockPair& begin, const ClockPair& end, std::uint64_t end_ns) noexcept;
  /// Whether a time in nanoseconds is in it.
  bool contains(std::uint64_t nanoseconds) const noexcept { return nanoseconds >= begin_ && nanoseconds <= end_; }
  std::uint64_t time_of(std::uint64_t cycles) const noexcept;
  std::uint64_t duration_of(std::uint64_t cycles) const noexcept;

 private:
  std::uint64_t begin_;
  std::uint64_t end_;
  std::uint64_t first_cycles_;
  double rate_;  ///< nanoseconds of a cycle
};

/// Reads what another process may have written, or be writing: any bytes give names and events that refer to one
/// another rightly. file: at a multiple of 64. Appends events until there are most of them, and counts the others as
/// lost, as those that were overwritten. Returns false when file is not a recording. Throws std::bad_alloc.
bool read_recording(std::span<const std::byte> file, const Window& window, std::uint16_t process, std::size_t most,
                    TraceProcess& into, std::vector<TraceEvent>& events);

}  // namespace pydoca::detail::trace

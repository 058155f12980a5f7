#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace pydoca::failure {

/// What fails: the n-th event of one kind, in any thread, while armed; with `persistent` also all that follow.
struct Plan {
  enum class Kind : std::uint8_t { none, allocation, call };

  Kind kind = Kind::none;
  std::uint64_t n = 0;  ///< counted from 1
  bool persistent = false;
  const char* call = nullptr;  ///< the name of the call that fails
  int error = 0;               ///< the errno of the call, or short_transfer
};

inline constexpr int short_transfer = -1;  ///< a call that transfers bytes transfers only some of them

/// A stack, innermost frame first.
struct Frames {
  std::array<void*, 48> addresses{};
  std::atomic<int> count{0};

  void note() noexcept;  ///< of the caller, unless there are frames already
};

/// What happened; in memory that a sweep shares with its children.
struct Report {
  std::atomic<std::uint64_t> n{0};
  std::atomic<std::size_t> plan{0};  ///< an index into the sweep's plans
  std::atomic<const char*> step{""};
  std::array<char, 256> verdict{};
  Frames failure;  ///< the stack of the event that failed
  Frames crash;    ///< the stack of the signal that ended the child
};

/// Failures happen between arm() and disarm(). disarm() returns how many events were counted.
void arm(const Plan& plan, Report& report) noexcept;
std::uint64_t disarm() noexcept;

/// Whether this event is to fail; for what replaces operator new and the system's calls.
bool fails(Plan::Kind kind, const char* call = nullptr) noexcept;
int planned_error() noexcept;

/// Blocks that operator new has given and that are not deleted.
std::int64_t live_blocks() noexcept;

}  // namespace pydoca::failure

#pragma once

#include "pydoca/trace.hpp"
#include "pydoca/types.hpp"

#include "detail/clock.hpp"
#include "detail/fd.hpp"
#include "detail/thread/atomic.hpp"
#include "detail/trace/recording_format.hpp"

#include <cstdint>
#include <string_view>

/// This process's recording: each reader of what the engine does keeps a share of it. Threads write into rings of their
/// own, without locks.
namespace pydoca::detail::trace {

/// The one word that hot paths read: it changes only when a recording begins or ends.
extern constinit Atomic<bool> recording;
inline bool is_recording() noexcept { return recording.load(std::memory_order_relaxed); }

extern constinit Atomic<bool> counts_cycles;  ///< set before a recording begins; never for one of virtual time
/// Apart, as its local variables would have the compiler guard the stack of every function that records.
[[gnu::noinline, gnu::cold]] std::uint64_t nanosecond_ticks() noexcept;
/// The present time of a record.
inline std::uint64_t ticks() noexcept {
  if (counts_cycles.load(std::memory_order_relaxed)) [[likely]] {
    return processor_cycles();
  }
  return nanosecond_ticks();
}

extern constinit Atomic<std::uint32_t> present_generation;
/// Identifies the present recording; another number for each.
inline std::uint32_t generation() noexcept { return present_generation.load(std::memory_order_acquire); }

/// Where a thread writes. Only the thread has it: a tracer may change what is in the file.
struct ThreadRing {
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  Record* records = nullptr;
  Atomic<std::uint64_t>* shared_head = nullptr;
  std::uint64_t head = 0;
  std::uint64_t mask = 0;
  std::uint32_t generation = none;  ///< identifies the recording that the ring is of; none: no ring
  std::uint32_t homeless = none;    ///< identifies the recording that had no ring left

  /// Takes a ring of the present recording, if one is left; counts an event without.
  bool claim() noexcept;
};
extern thread_local constinit ThreadRing own_ring __attribute__((tls_model("initial-exec")));

inline constexpr std::uint64_t records_ahead = 8;

/// Writes into the calling thread's ring. While nothing is recorded it may do nothing.
[[gnu::always_inline]] inline void record(std::uint64_t time, std::uint64_t what, std::uint64_t id,
                                          std::uint64_t value) noexcept {
  ThreadRing& ring = own_ring;
  if (ring.generation != generation() && !ring.claim()) [[unlikely]] {
    return;
  }
  Record& place = ring.records[ring.head & ring.mask];
  __builtin_prefetch(&ring.records[(ring.head + records_ahead) & ring.mask], 1);  // the ring is larger than caches
  place.time.store(time, std::memory_order_relaxed);
  place.id.store(id, std::memory_order_relaxed);
  place.value.store(value, std::memory_order_relaxed);
  place.what.store(what, std::memory_order_relaxed);
  ring.shared_head->store(++ring.head, std::memory_order_release);
}

/// 0 when the table is full. At most NameEntry::max_text bytes are kept.
std::uint32_t add_name(TraceNameKind kind, std::string_view text, std::uint32_t parent = 0,
                       std::uint32_t number = 0) noexcept;

std::uint32_t add_device_name(std::string_view name, Side side) noexcept;

/// A share of this process's recording. The first share begins it, the last one to go ends it.
class Share {
 public:
  Share() = default;
  /// capacity: records of each ring, if this one begins the recording; a power of two within its limits. Throws
  /// operating_system, and bad_state when a recording of the other clock, real or virtual, is under way.
  explicit Share(std::uint32_t capacity);
  ~Share() { reset(); }
  Share(Share&& other) noexcept;
  Share& operator=(Share&& other) noexcept;

  void reset() noexcept;
  /// The file of the recording, which cannot shrink. It stays readable after reset().
  int file() const noexcept { return file_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(file_); }
  /// Whether this process was forked from the one that took the share: it records nothing.
  bool is_inherited() const noexcept;

 private:
  Fd file_;
  std::uint32_t forks_ = 0;
};

}  // namespace pydoca::detail::trace

#pragma once

#include <cstdint>

/// Points in the middle of protocols between two sides, at which a thread that takes part in virtual time may give its
/// turn to another one, as the seed decides; and mistakes that tests plant in these protocols, to show that
/// sim.explore() finds them. Only the tests' builds define PYDOCA_CRASH_POINTS; in others both are nothing. No lock is
/// held at a point.
namespace pydoca::detail {

enum class Mistake : std::uint8_t {
  none,
  no_second_look,        ///< a waiter of a sync event arms, and does not look again
  epoch_not_bumped,      ///< an export that has ended leaves the number of its slot as it was
  credit_counted_twice,  ///< the reader of a ring gives back the room of a record twice
  ack_before_data,       ///< an RDMA write with immediate is announced, then done
  flag_before_payload,   ///< a record is announced before its header is written
};

#ifdef PYDOCA_CRASH_POINTS
void turn_point() noexcept;
bool is_planted(Mistake mistake) noexcept;
#else
inline void turn_point() noexcept {}
constexpr bool is_planted(Mistake /*mistake*/) noexcept { return false; }
#endif

}  // namespace pydoca::detail

#pragma once

#ifdef PYDOCA_CRASH_POINTS

#include <string_view>

#pragma GCC visibility push(default)

/// The builds for pydoca's own tests have these: threads of virtual time that give way in the middle of protocols, and
/// mistakes in these protocols.
namespace pydoca::sim {

/// What a thread may hold where it gives its turn to others, such as an interpreter's lock.
struct TurnHold {
  void* (*let_go)() noexcept;
  void (*take_back)(void* what) noexcept;  ///< what let_go() returned
};

/// Has threads give way at turn points; hold lives as long as they do. null: they do not any more.
void give_way_at_turn_points(const TurnHold* hold) noexcept;

/// Puts one mistake of detail/time/turn_point.hpp into the engine; "": none. Throws invalid_value for other names.
void plant(std::string_view mistake);

}  // namespace pydoca::sim

#pragma GCC visibility pop

#endif

/// All code that reads asyncio's private state, which saves turns of the loop and system calls.
/// PYDOCA_ASYNCIO_INTERNALS=0 in the environment switches it off: awaits then use only what asyncio documents.
#pragma once

#include "convert/collectable.hpp"

#include <chrono>
#include <optional>

namespace pydoca::bindings {

/// An object that identifies the event loop that runs in this thread. It is the same as long as that loop runs. Another
/// loop has another object, as long as the caller has a reference to this one. Null, without an error, when there is
/// none.
py::object running_loop_mark();

/// Whether mark, which is not null, is what running_loop_mark() gives.
bool is_running_loop_mark(const py::object& mark);

/// asyncio's own loop on epoll, as an await in it sees it: whether the loop would sleep if the await suspended now. If
/// so, the await may sleep in the loop's place, on the loop's descriptors too, which saves the way to the loop and
/// back. This reads attributes that asyncio does not document; a loop counts as a stock loop only when all of them are
/// found.
class StockLoop {
 public:
  using Clock = std::chrono::steady_clock;  // the clock of loop.time()

  /// nullopt for every other loop.
  static std::optional<StockLoop> find(const py::object& loop);

  /// Whether the loop itself runs the present coroutine, so that no other code would continue before the loop does. It
  /// may err when code without a Python frame drives a coroutine; therefore no sleep may be long.
  bool runs_this_coroutine() const;
  /// Whether no callback but own_turn, a handle or None, is ready, and the loop would sleep.
  bool is_idle(const py::object& own_turn) const;
  /// The time at which the loop's first timer is due; Clock::time_point::max() without a timer.
  Clock::time_point next_timer() const;
  /// Whether a descriptor other than own_fd is ready.
  bool has_event(int own_fd) const noexcept;
  /// Sleeps as the loop would, without the GIL, until end at the latest. Returns whether a descriptor other than own_fd
  /// is ready then. Throws the exceptions of signal handlers.
  bool sleep(int own_fd, Clock::time_point end) const;

  void each_reference(References& references) { references.reset(loop_, ready_); }

 private:
  StockLoop(py::object loop, int fd);

  py::object loop_;
  py::object ready_;
  int fd_;
};

}  // namespace pydoca::bindings

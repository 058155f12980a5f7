/// All that reads asyncio's private state, to save turns and system calls. PYDOCA_ASYNCIO_INTERNALS=0 in the
/// environment does without: awaits then take the ways that asyncio documents.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <optional>

namespace pydoca::bindings {

/// Stands for the event loop that runs in this thread: the same object as long as that loop runs, and another one for
/// every other loop, as long as the caller has a reference to it. Null, without an error, when none is found.
pybind11::object running_loop_mark();

/// asyncio's own loop on epoll, as an await that runs in it sees it: whether the loop would go to sleep if the await
/// suspended now. Then the await may sleep in the loop's place, on the loop's descriptor too, which saves the way out
/// to the loop and back. What it looks at is not public in asyncio: it is a stock loop only when everything is found.
class StockLoop {
 public:
  using Clock = std::chrono::steady_clock;  // that of loop.time()

  /// None for every other loop.
  static std::optional<StockLoop> find(const pybind11::object& loop);

  /// Whether the loop runs the present coroutine itself: no code between the two would go on before the loop. It may
  /// err where a coroutine is driven by what has no frame of Python's, so that no sleep may be for long.
  bool runs_this_coroutine() const;
  /// Whether nothing is ready but own_turn, a handle or None, and nothing keeps the loop from sleeping.
  bool is_idle(const pybind11::object& own_turn) const;
  /// When the loop's first timer is due; Clock::time_point::max() without one.
  Clock::time_point next_timer() const;
  /// Whether a descriptor other than own_fd is ready.
  bool has_event(int own_fd) const noexcept;
  /// Sleeps as the loop would, without the GIL, until end at the latest. Whether a descriptor other than own_fd is
  /// ready by then. Throws what signal handlers raise.
  bool sleep(int own_fd, Clock::time_point end) const;

  int traverse(visitproc visit, void* arg) const;

 private:
  StockLoop(pybind11::object loop, int fd);

  pybind11::object loop_;
  pybind11::object ready_;
  int fd_;
};

}  // namespace pydoca::bindings

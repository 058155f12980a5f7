/// How Python waits for what an engine delivers: futures for those in an event loop, a blocking wait for the others.
#pragma once

#include "convert/python.hpp"

#include <pybind11/pybind11.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace pydoca::bindings {

class EngineObject;

/// The futures of those who wait for one thing to happen, one each: who is cancelled takes nothing from the others.
class Waiters {
 public:
  void add(pybind11::object future) { futures_.push_back(std::move(future)); }
  bool empty() const noexcept { return futures_.empty(); }
  void discard(const pybind11::object& future);
  /// Every future gets result when the engine's present batch is over.
  void wake(EngineObject& engine, const pybind11::object& result);
  void clear() noexcept { futures_.clear(); }
  int traverse(visitproc visit, void* arg) const;

 private:
  std::vector<pybind11::object> futures_;
};

/// Something that an engine will deliver and that lends no memory: a message, a connection, a change of state. Python
/// awaits it, or waits for it without a loop; giving up loses nothing, as it is taken only when it is handed over.
class Awaitable {
 public:
  Awaitable() = default;
  virtual ~Awaitable() = default;
  Awaitable(const Awaitable&) = delete;
  Awaitable& operator=(const Awaitable&) = delete;

  virtual EngineObject& engine() = 0;
  /// Woken whenever ready() may have become true.
  virtual Waiters& waiters() = 0;
  /// Whether take() would not have to wait.
  virtual bool ready() = 0;
  /// What was waited for, or why it will never come (throws). Only when ready.
  virtual pybind11::object take() = 0;
  /// One who waited does not any more, whether it was taken or not.
  virtual void give_up() {}
  /// For messages: "recv", "accept".
  virtual std::string_view what() const = 0;

  /// Progresses until ready, then takes. timeout in seconds; none: no limit.
  pybind11::object wait(std::optional<double> timeout);
};

/// Progresses the engine in this thread until done(): spins briefly, then sleeps without the GIL, in slices after which
/// Python's signal handlers run. Throws TimeOutError after timeout seconds (InvalidValueError when it is not a time),
/// what callbacks and signal handlers raised, and what EngineObject::require_progressable() throws.
void block_until(EngineObject& engine, const std::function<bool()>& done, std::optional<double> timeout,
                 std::string_view what);

}  // namespace pydoca::bindings

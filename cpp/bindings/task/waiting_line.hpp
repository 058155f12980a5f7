#pragma once

#include "task/awaitable.hpp"

#include <pybind11/pybind11.h>

#include <cstddef>
#include <deque>
#include <limits>
#include <vector>

namespace pydoca::bindings {

class QueuedEvent;

/// Those who wait for things of one kind, in the order in which they first looked: whoever comes later does not
/// overtake somebody who was woken and has not got to taking it yet.
class WaitingLine {
 public:
  /// As a number of things available: nobody has to wait, as nothing will come any more.
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

  /// How many stand ahead of who, who stands in the line from now on.
  std::size_t ahead_of(QueuedEvent& who);
  /// Whether who stood in it.
  bool leave(const QueuedEvent& who) noexcept;
  /// Wakes as many as can be served.
  void wake(EngineObject& engine, std::size_t available);

 private:
  std::vector<QueuedEvent*> waiting_;
};

/// The thing at place, which goes.
inline pybind11::object take_at(std::deque<pybind11::object>& things, std::size_t place) {
  pybind11::object thing = std::move(things[place]);
  things.erase(things.begin() + static_cast<std::ptrdiff_t>(place));
  return thing;
}

/// Something that is handed out in the order of a line. owner has the line, the engine and the things.
class QueuedEvent : public Awaitable {
 public:
  QueuedEvent(pybind11::object owner, EngineObject& engine, WaitingLine& line)
      : owner_(std::move(owner)), engine_(engine), line_(line) {}
  ~QueuedEvent() override { line_.leave(*this); }

  EngineObject& engine() final { return engine_; }
  Waiters& waiters() final { return waiters_; }
  bool ready() final { return line_.ahead_of(*this) < available(); }
  pybind11::object take() final;
  void give_up() final;

  virtual int traverse(visitproc visit, void* arg) const;
  void clear() { waiters_.clear(); }

 protected:
  virtual std::size_t available() = 0;
  /// The thing at place, as those ahead have not got to taking theirs yet; or why there will be none (throws).
  virtual pybind11::object serve(std::size_t place) = 0;

 private:
  pybind11::object owner_;
  EngineObject& engine_;
  WaitingLine& line_;
  Waiters waiters_;
};

}  // namespace pydoca::bindings

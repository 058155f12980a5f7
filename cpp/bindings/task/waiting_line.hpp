#pragma once

#include "convert/pybind.hpp"
#include "task/awaitable.hpp"

#include <cstddef>
#include <deque>
#include <limits>
#include <vector>

namespace pydoca::bindings {

class QueuedEvent;

/// The events that wait for objects of one kind, in the order of their first check. A waiter that comes later does not
/// overtake one that was woken and has not yet taken its object.
class WaitingLine {
 public:
  /// A number of available objects: no event has to wait, because no more objects will come.
  static constexpr std::size_t unlimited = std::numeric_limits<std::size_t>::max();

  /// The number of events ahead of this one. Adds the event to the line if it is not in it.
  std::size_t ahead_of(QueuedEvent& event);
  /// Returns whether the event was in the line.
  bool leave(const QueuedEvent& event) noexcept;
  /// Wakes as many events as there are available objects.
  void wake(EngineObject& engine, std::size_t available);

 private:
  std::vector<QueuedEvent*> waiting_;
};

/// Removes the object at place, and returns it.
inline py::object take_at(std::deque<py::object>& objects, std::size_t place) {
  py::object taken = std::move(objects[place]);
  objects.erase(objects.begin() + static_cast<std::ptrdiff_t>(place));
  return taken;
}

/// An object that is handed out in the order of a line. owner has the line, the engine and the objects.
class QueuedEvent : public Awaitable {
 public:
  QueuedEvent(py::object owner, EngineObject& engine, WaitingLine& line)
      : owner_(std::move(owner)), engine_(engine), line_(line) {}
  ~QueuedEvent() override { line_.leave(*this); }

  EngineObject& engine() final { return engine_; }
  Waiters& waiters() final { return waiters_; }
  bool ready() final { return line_.ahead_of(*this) < available(); }
  py::object take() final;
  void give_up() final;

  virtual int traverse(visitproc visit, void* arg) const;
  void clear() { waiters_.clear(); }

 protected:
  virtual std::size_t available() = 0;
  /// The object at place; those before it belong to the events ahead. Throws the reason when there will be none.
  virtual py::object serve(std::size_t place) = 0;

 private:
  py::object owner_;
  EngineObject& engine_;
  WaitingLine& line_;
  Waiters waiters_;
};

}  // namespace pydoca::bindings

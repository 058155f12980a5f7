#pragma once

#include "convert/pybind.hpp"
#include "engine/awaitable.hpp"

#include <array>
#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
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

/// Removes the object at place, and returns it; null when there is none.
inline py::object take_at(std::deque<py::object>& objects, std::size_t place) {
  if (place >= objects.size()) return {};
  py::object taken = std::move(objects[place]);
  objects.erase(objects.begin() + static_cast<std::ptrdiff_t>(place));
  return taken;
}

/// An object that is handed out in the order of a line. owner has the line, the engine and the objects.
class QueuedEvent : public Awaitable {
 public:
  /// iterating: the end of the objects ends an iteration instead of raising.
  QueuedEvent(py::object owner, EngineObject& engine, WaitingLine& line, bool iterating)
      : owner_(std::move(owner)), engine_(&engine), line_(&line), iterating_(iterating) {}
  ~QueuedEvent() override { leave(); }

  EngineObject& engine() final { return *engine_; }
  Waiters& waiters() final { return waiters_; }
  bool ready() final { return line_->ahead_of(*this) < available(); }
  py::object take() final;
  void give_up() final;
  std::string_view call_without_effect() const noexcept final { return iterating_ ? std::string_view() : call(); }

  void each_reference(References& references);

 protected:
  /// Does what the constructor does, for an object that stayed.
  void begin(py::object owner, EngineObject& engine, WaitingLine& line, bool iterating) noexcept {
    owner_ = std::move(owner);
    engine_ = &engine;
    line_ = &line;
    iterating_ = iterating;
    become_unused();
  }
  /// Leaves the line, and the owner, which may end.
  void leave() noexcept {
    if (line_ != nullptr) std::exchange(line_, nullptr)->leave(*this);
    const py::object owner = std::exchange(owner_, {});
    waiters_.clear();
  }

  virtual std::size_t available() = 0;
  /// The object at place; those before it belong to the events ahead. Null when there will be none.
  virtual py::object serve(std::size_t place) = 0;
  /// The name of the call that makes such an event.
  virtual std::string_view call() const noexcept = 0;
  /// Throws the reason why there will be none.
  [[noreturn]] virtual void raise_end() const = 0;

 private:
  py::object owner_;
  EngineObject* engine_;
  WaitingLine* line_;
  Waiters waiters_;
  bool iterating_;
};

/// The next object of an owner, which has the members that this class calls. A message costs less than a new Python
/// object: those without references stay for the next calls.
template <class Owner>
class NextOf final : public QueuedEvent {
 public:
  /// object: the owner's Python object.
  static py::object make(py::object object, Owner& owner, bool iterating) {
    if (spares_.count == 0) {
      const auto made = std::shared_ptr<NextOf>(new NextOf(std::move(object), owner, iterating));
      py::object next = py::cast(made);
      made->self_ = next.ptr();
      return next;
    }
    NextOf& spare = *spares_.events[--spares_.count];
    spare.owner_ = &owner;
    spare.begin(std::move(object), owner.engine(), owner.line(), iterating);
    _Py_NewReference(spare.self_);
    PyObject_GC_Track(spare.self_);
    return py::reinterpret_steal<py::object>(spare.self_);
  }
  std::string_view what() const override { return Owner::name_of_wait; }

  bool stays() noexcept override {
    leave();
    if (self_ == nullptr || spares_.count == spares_.events.size()) return false;
    spares_.events[spares_.count++] = this;
    return true;
  }

 protected:
  std::size_t available() override { return owner_->available(); }
  py::object serve(std::size_t place) override { return owner_->serve(place); }
  std::string_view call() const noexcept override { return Owner::call_to_wait; }
  void raise_end() const override { owner_->raise_end(); }

 private:
  struct Spares {
    std::array<NextOf*, 16> events{};
    std::size_t count = 0;
  };

  NextOf(py::object object, Owner& owner, bool iterating)
      : QueuedEvent(std::move(object), owner.engine(), owner.line(), iterating), owner_(&owner) {}

  static constinit inline Spares spares_{};

  Owner* owner_;
  PyObject* self_ = nullptr;  ///< the Python object of this, without a reference
};

}  // namespace pydoca::bindings

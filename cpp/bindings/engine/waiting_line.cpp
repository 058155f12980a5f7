#include "engine/waiting_line.hpp"

#include "engine/engine_object.hpp"

#include <algorithm>

namespace pydoca::bindings {

std::size_t WaitingLine::ahead_of(QueuedEvent& event) {
  const auto place = std::ranges::find(waiting_, &event);
  const auto ahead = static_cast<std::size_t>(place - waiting_.begin());
  if (place == waiting_.end()) {
    waiting_.push_back(&event);
  }
  return ahead;
}

bool WaitingLine::leave(const QueuedEvent& event) noexcept { return std::erase(waiting_, &event) != 0; }

void WaitingLine::wake(EngineObject& engine, std::size_t available) {
  for (std::size_t place = 0; place < std::min(available, waiting_.size()); ++place) {
    waiting_[place]->waiters().wake(engine, py::none());
  }
}

py::object QueuedEvent::take() {
  const std::size_t place = line_->ahead_of(*this);
  line_->leave(*this);
  py::object served = serve(place);
  if (served) return served;
  if (!iterating_) raise_end();
  PyErr_SetNone(PyExc_StopAsyncIteration);
  throw py::error_already_set();
}

void QueuedEvent::give_up() {
  // Another caller may await this same object.
  if (waiters_.empty() && line_->leave(*this)) {
    line_->wake(*engine_, available());
    engine_->settle();
  }
}

void QueuedEvent::each_reference(References& references) {
  references.keep(owner_);
  waiters_.each_reference(references);
}

}  // namespace pydoca::bindings

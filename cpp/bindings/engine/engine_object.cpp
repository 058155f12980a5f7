#include "engine/engine_object.hpp"

#include "call/raw_method.hpp"
#include "convert/convert.hpp"
#include "convert/python.hpp"

#include <utility>

namespace pydoca::bindings {

std::vector<EngineObject*>& EngineObject::all() {
  static std::vector<EngineObject*> engines;
  return engines;
}

EngineObject::EngineObject(double drain_timeout, Latency latency) : turn_(*this, latency) {
  set_drain_timeout(drain_timeout);
  all().push_back(this);
}

EngineObject::~EngineObject() { std::erase(all(), this); }

void EngineObject::set_drain_timeout(double seconds) {
  if (!(seconds >= 0)) {
    raise(Status::invalid_value, format_text("drain_timeout is in seconds, 0 or more, not {}", seconds));
  }
  drain_timeout_ = seconds;
}

void EngineObject::enter_loop(const py::object& loop) { turn_.enter_loop(loop, py::cast(this)); }

void EngineObject::run_turn(bool woken) {
  try {
    turn_.run(woken);
  } catch (const py::error_already_set& error) {
    // The engine of a forked child, for example: it delivers nothing in this process.
    if (is_docas(error)) bridge().attr("forget")();
    throw;
  }
}

py::object EngineObject::bridge() {
  if (!bridge_) {
    bridge_ = bridge_module().attr("Bridge")(py::cast(this));
  }
  return bridge_;
}

void EngineObject::release_thread() {
  require_progressable("release_thread");
  if (engine().num_inflight_tasks() == 0 && bridge_) bridge_.attr("unbind")();
  engine().release_thread();
}

void EngineObject::close() {
  if (closed_) {
    return;
  }
  if (is_forked()) {
    closed_ = true;
    return;
  }
  require_progressable("close the progress engine");
  engine().close();
  closed_ = true;
  settle();  // the waits for imports, which it has ended
  if (bridge_) bridge_.attr("unbind")();
  drain_log();
}

void InFlightReference::hold(EngineObject& engine, py::object object) {
  static_cast<void>(release());
  object_ = std::move(object);
  engine_ = &engine;
  next_ = engine.in_flight_;
  if (next_ != nullptr) next_->previous_ = this;
  engine.in_flight_ = this;
}

py::object InFlightReference::release() noexcept {
  if (engine_ == nullptr) {
    return {};
  }
  (previous_ != nullptr ? previous_->next_ : engine_->in_flight_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  previous_ = next_ = nullptr;
  engine_ = nullptr;
  return std::move(object_);
}

EngineObject& to_engine(const py::object& object) {
  return argument_of<EngineObject>(object.ptr(), "a pydoca.ProgressEngine");
}

}  // namespace pydoca::bindings

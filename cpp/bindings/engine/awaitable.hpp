/// How Python waits for an engine's deliveries: with a future in an event loop, with a blocking wait without one.
#pragma once

#include "convert/collectable.hpp"
#include "convert/pybind.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::bindings {

class Deliveries;
class EngineObject;

/// The futures of the callers that wait for one event, one each: the cancellation of one does not affect the others.
class Waiters {
 public:
  void add(py::object future) { futures_.push_back(std::move(future)); }
  bool empty() const noexcept { return futures_.empty(); }
  void discard(const py::object& future);
  /// Sets the result of every future when the engine's present batch is over.
  void wake(Deliveries& engine, const py::object& result);
  void clear() noexcept { futures_.clear(); }
  void each_reference(References& references) { references.drop_all(futures_); }

 private:
  std::vector<py::object> futures_;
};

/// Binds the methods by which Python's coroutines wait with futures.
template <class Class>
void bind_waiters(Class& type) {
  using T = Class::type;
  type.def(
          "_add_waiter", [](T& self, py::object future) { self.waiters().add(std::move(future)); }, "future"_a)
      .def("_discard_waiter", [](T& self, const py::object& future) { self.waiters().discard(future); }, "future"_a);
}

/// Something that an engine will deliver: a message, a connection, a change of state, the end of a graph. Python awaits
/// it, or waits for it without a loop. Giving up a wait loses nothing: take() removes it from the queue only when it
/// hands it over.
class Awaitable : NotCopied {
 public:
  virtual ~Awaitable() = default;

  virtual EngineObject& engine() = 0;
  /// Woken whenever ready() may have become true.
  virtual Waiters& waiters() = 0;
  /// Whether take() would return without a wait.
  virtual bool ready() = 0;
  /// The result of the wait. Throws the reason when it will never come. Call only when ready().
  virtual py::object take() = 0;
  /// The caller's wait is over, whether it took the result or not.
  virtual void give_up() {}
  /// Whether a device uses Python's memory until ready(); giving up an await then waits for that.
  virtual bool lends_memory() const { return false; }
  /// An await was cancelled: the outcome may not be wanted any more.
  virtual void abandon() {}
  /// Gives up what is lent: it is in quarantine until the device has released it. Returns whether there was any.
  virtual bool quarantine() { return false; }
  /// The name for messages: "recv", "accept".
  virtual std::string_view what() const = 0;
  /// The call that made the object, if that call has no effect but this object: it warns at its end when nothing has
  /// used it. Empty for the others, such as an operation that goes on by itself.
  virtual std::string_view call_without_effect() const noexcept { return {}; }
  /// An await was cancelled, and waits for the device next: what the device need not begin may be left out.
  virtual void curtail() {}

  /// The Python object has no references left: whether it stays for the next object of its kind, instead of ending.
  virtual bool stays() noexcept { return false; }

  /// An await or a wait begins, or the caller does without.
  void use() noexcept { used_ = true; }
  bool is_used() const noexcept { return used_; }

  /// Progresses until ready, then takes. timeout in seconds; nullopt: no limit.
  py::object wait(std::optional<double> timeout);

 protected:
  /// The object serves another caller from now on.
  void become_unused() noexcept { used_ = false; }

 private:
  bool used_ = false;
};

/// Progresses the engine in this thread until done(). Spins briefly, then sleeps without the GIL, in slices; Python's
/// signal handlers run between them. Throws TimeOutError after timeout seconds (InvalidValueError for a timeout that is
/// not a number of seconds, 0 or more), the exceptions of callbacks and signal handlers, and those of
/// EngineObject::require_progressable(). what gives the name of the wait for them.
void block_until(EngineObject& engine, const std::function<bool()>& done, std::optional<double> timeout,
                 const std::function<std::string()>& what);

}  // namespace pydoca::bindings

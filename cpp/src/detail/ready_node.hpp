#pragma once

#include "pydoca/backend/notifier.hpp"
#include "pydoca/cpus.hpp"

#include "detail/thread/atomic.hpp"

namespace pydoca::detail {

/// An object that a progress engine polls: a context, or a connection of one. The engine lists nodes that were
/// notified, and progresses those on its list. All but notify_from_any_thread() belongs to the engine's own thread.
class ReadyNode : public backend::Notifier {
 protected:
  ReadyNode() = default;
  virtual ~ReadyNode();

  /// Delivers at most one completion or event. Returns whether anything advanced; clears more when nothing is left.
  virtual bool progress_one(bool& more) noexcept = 0;
  /// Lends the polling core to the device for one piece of work. Returns false when there was none.
  virtual bool assist() noexcept { return false; }
  /// Whether there is something to deliver; called often, so cheap.
  virtual bool look() noexcept { return false; }
  /// Makes later changes wake the engine; notifies when there is something to deliver already.
  virtual void prepare_sleep() noexcept {}
  /// Whether what it waits for may come from another CPU than here, the CPUs of the engine's thread; tells the others
  /// of these. Called before sleeps, after await_others().
  virtual bool may_advance_elsewhere(Cpus /*here*/) noexcept { return false; }

  /// Has the engine call look() while it polls, for changes that do not notify while an engine is awake. Before the
  /// engine sleeps, it calls prepare_sleep(), and looks no more.
  void keep_looking() noexcept;
  /// The same for a change that is expected from now on: wakes an engine that is armed already, as nothing else would
  /// prepare this node for its sleep. The engine prepares it when it is armed again.
  void begin_looking() noexcept;
  void stop_looking() noexcept;

  /// From now on, until leave_others() or leave(), it waits for what others do.
  void await_others() noexcept;
  void leave_others() noexcept;

  /// Joins or leaves an engine's list. No other thread may notify after leave().
  void join(ReadyList& ready) noexcept { ready_ = &ready; }
  void leave() noexcept;

 private:
  friend class ReadyList;

  ReadyNode* next_ = nullptr;
  ReadyNode* prev_ = nullptr;
  bool assisting_ = false;
  bool looking_ = false;
  bool awaits_others_ = false;
  ReadyNode* next_assist_ = nullptr;
  ReadyNode* prev_assist_ = nullptr;
  ReadyNode* next_looking_ = nullptr;
  ReadyNode* prev_looking_ = nullptr;
  ReadyNode* next_awaiting_ = nullptr;
  ReadyNode* prev_awaiting_ = nullptr;
  Atomic<bool> posted_{false};
  ReadyNode* next_posted_ = nullptr;
};

}  // namespace pydoca::detail

#pragma once

namespace pydoca::detail {
class ReadyList;
}

namespace pydoca::backend {

/// The engine lends one to a backend with each queue. The backend uses it to say that the queue's context has something
/// to deliver. A notification is a hint: one too many costs time, and changes nothing else. It outlives the queue.
class Notifier {
 public:
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  /// Tells the engine that poll() would return something. Only the engine's own thread calls it.
  void notify() noexcept {
    if (!listed_) {
      list();
    }
  }
  /// The same from any thread; wakes an armed engine. The caller must have published what poll() will find.
  void notify_from_any_thread() noexcept;
  /// assist() could do a piece of work now. Only on the engine's own thread. Never keeps an engine from sleeping.
  void offer_assist() noexcept;

 protected:  // the engine's node (detail::ReadyNode) is the only one that is made
  Notifier() = default;
  ~Notifier() = default;
  void list() noexcept;

  detail::ReadyList* ready_ = nullptr;
  bool listed_ = false;
};

}  // namespace pydoca::backend

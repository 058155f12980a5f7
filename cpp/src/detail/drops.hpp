#pragma once

#include <cstdint>
#include <utility>

namespace pydoca::detail {

/// An object to which a callback of its engine may drop the last reference.
class Droppable {
 protected:
  Droppable() = default;
  virtual ~Droppable() = default;

  /// The object calls nothing of its user's from now on.
  virtual void silence() noexcept = 0;
  virtual void destroy() noexcept = 0;

 private:
  friend class Drops;
  Droppable* next_ = nullptr;
};

/// The objects of one engine whose last references went in its callbacks. The functions that called those still use the
/// objects: so they fall silent at once, and are destroyed when the outermost function returns. The engine itself may
/// be one of them. It belongs to the engine's thread.
class Drops {
 public:
  Drops() = default;
  Drops(const Drops&) = delete;
  Drops& operator=(const Drops&) = delete;

  /// A call, other than progress(), that may run callbacks: as the first variable of its function, which must not use
  /// the object or the engine after it.
  class Call {
   public:
    explicit Call(Drops& drops) noexcept : drops_(drops) { ++drops_.num_calls_; }
    ~Call() {
      --drops_.num_calls_;
      drops_.destroy_unless_called();
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Drops& drops_;
  };

  /// Whether something waits for the end of the outermost function.
  bool are_due() const noexcept { return first_ != nullptr; }
  bool is_progressing() const noexcept { return is_progressing_; }
  void begin_progress() noexcept { is_progressing_ = true; }
  /// The engine may be gone after it.
  void end_progress() noexcept {
    is_progressing_ = false;
    if (first_ != nullptr) [[unlikely]] {
      destroy_unless_called();
    }
  }

  /// The last reference to object is gone.
  void drop(Droppable& object) noexcept {
    if (is_progressing_ || num_calls_ != 0) {
      object.silence();
      object.next_ = std::exchange(first_, &object);
    } else {
      object.destroy();
    }
  }

 private:
  /// Uses nothing of this object once it destroys: the last context may hold the engine.
  [[gnu::noinline]] void destroy_unless_called() noexcept {
    if (is_progressing_ || num_calls_ != 0) {
      return;
    }
    Droppable* object = std::exchange(first_, nullptr);
    while (object != nullptr) {
      std::exchange(object, object->next_)->destroy();
    }
  }

  Droppable* first_ = nullptr;
  bool is_progressing_ = false;
  std::uint32_t num_calls_ = 0;
};

}  // namespace pydoca::detail

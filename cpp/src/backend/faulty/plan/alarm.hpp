#pragma once

#include "detail/fd.hpp"
#include "detail/time/timer.hpp"

#include <cstdint>

namespace pydoca::faulty {

/// A descriptor that is readable when another one is, from a moment on, or when it was rung. Belongs to one thread,
/// except for ring().
class Alarm {
 public:
  /// inner: -1 for none; it outlives this. Throws operating_system.
  explicit Alarm(int inner);

  int fd() const noexcept { return all_.get(); }
  /// Readable from this moment of detail::now() on.
  void set(std::uint64_t at) noexcept;
  /// Makes the descriptor readable until calm(). Any thread may call it.
  void ring() const noexcept;
  /// Takes set() and ring() back.
  void calm() noexcept;
  /// Whether the inner descriptor is waited for as well until it can be written to.
  void expect_room(bool expected) noexcept;
  /// Whether it is waited for until it can be read, as it is at first.
  void expect_messages(bool expected) noexcept;

 private:
  void watch(int fd, std::uint32_t events);
  void watch_inner() noexcept;

  const int inner_;
  detail::Timer timer_;
  detail::Fd doorbell_;
  detail::Fd all_;
  bool is_set_ = false;
  bool expects_room_ = false;
  bool expects_messages_ = true;
  std::uint32_t inner_events_ = 0;  ///< events that inner is waited for
};

}  // namespace pydoca::faulty

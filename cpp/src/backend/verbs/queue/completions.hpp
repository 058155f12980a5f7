#pragma once

#include "backend/verbs/adapter/place.hpp"
#include "detail/fd.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace pydoca::verbs {

/// A completion queue with its channel. Belongs to one thread.
class Completions {
 public:
  /// Throws as the library fails.
  Completions(Place& place, std::uint32_t depth, const char* what);
  ~Completions();
  Completions(const Completions&) = delete;
  Completions& operator=(const Completions&) = delete;

  ibv_cq* get() const noexcept { return queue_.get(); }
  /// Pollable: readable when something came after arm(), and when the device may have been removed.
  int fd() const noexcept { return epoll_.get(); }
  /// Has fd() also tell of another descriptor. Throws operating_system.
  void watch(int fd, const char* what) const;
  /// The next ones, without a system call; nothing when there is none.
  std::span<const ibv_wc> poll() noexcept {
    const int count = ibv_poll_cq(queue_.get(), static_cast<int>(batch), completions_.data());
    return {completions_.data(), count > 0 ? static_cast<std::size_t>(count) : 0};
  }
  /// The next completion from now on makes fd() readable. Poll afterwards for those that came before.
  void arm() noexcept;
  /// Undoes arm() and empties fd(). No system call unless armed.
  void disarm() noexcept {
    if (armed_) [[unlikely]] {
      empty_channel();
    }
  }
  /// Whether the device was found to be removed, now or before. A system call, until it was.
  bool notice_removal() noexcept;

 private:
  static constexpr std::size_t batch = 32;

  void empty_channel() noexcept;

  Place& place_;
  const OwnedChannel channel_;
  const OwnedCompletions queue_;
  const detail::Fd epoll_;
  std::array<ibv_wc, batch> completions_{};
  unsigned unacknowledged_ = 0;
  bool armed_ = false;
  bool watches_removal_ = true;
};

}  // namespace pydoca::verbs

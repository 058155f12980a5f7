#pragma once

#include "pydoca/status.hpp"

#include "backend/sim/fabric/fabric.hpp"
#include "detail/fd.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace pydoca::sim {

/// Where peers wait from their connection to their first message, so that peers that say nothing cost others nothing.
/// Listens on any number of sockets. At most max_silent wait; the next one takes the place of the one that has waited
/// longest, of the process with the most, and nobody waits longer than the patience. A process without descriptors
/// turns peers away with one that is kept for this. Belongs to one thread; no call blocks, or works without a bound.
class Lobby {
 public:
  static constexpr std::size_t max_silent = 64;
  static constexpr int backlog = 128;  ///< peers that the kernel keeps for each of its sockets until next() takes them
  static constexpr std::chrono::seconds default_patience{5};
  /// Tells a peer why it is turned away, before its connection ends. full: this process has no descriptor for it, or
  /// others took its place; time_out: it said nothing; or what dismiss() was given. Must not throw.
  using TurnAway = std::function<void(int peer, Status why)>;

  /// name: for log messages, "comch". Throws operating_system.
  Lobby(std::string_view name, TurnAway turn_away, std::chrono::milliseconds patience = default_patience);
  /// Without an epoll set of its own: watches its descriptors in epoll, with themselves as data. The kernel limits how
  /// deep sets may be nested. epoll outlives the lobby.
  Lobby(std::string_view name, TurnAway turn_away, int epoll);
  Lobby(const Lobby&) = delete;
  Lobby& operator=(const Lobby&) = delete;

  /// Takes a listening socket; throws operating_system.
  void add(ListeningSocket listener);
  /// Closes it; its peers that wait stay.
  void remove(int listener) noexcept;

  /// Readable while next() may give a peer, or has other work.
  int fd() const noexcept { return epoll_; }
  /// A peer of this user whose first message, or end, can be received; empty when there is none.
  detail::Fd next() noexcept;
  /// next() for a lobby in the caller's epoll set: ready is a descriptor that was ready there. One that does not belong
  /// to the lobby is ignored.
  detail::Fd serve(int ready) noexcept;
  /// Whether the backlog may have been full since the last call, and has room now. Peers that found it full may wait
  /// for a sign.
  bool take_overflow() noexcept { return std::exchange(overflowed_, false); }
  /// Ends the connection of a peer that next() gave, and tells it why.
  void dismiss(int peer, Status why) noexcept;
  /// Closes everything in a forked child, and destroys nothing that could need another thread's lock.
  void leave_to_parent() noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  struct Silent {
    detail::Fd fd;
    pid_t process;
    Clock::time_point end;
  };

  Lobby(std::string_view name, TurnAway turn_away, std::chrono::milliseconds patience, detail::Fd own_epoll, int epoll);
  void watch(int fd);
  void unwatch(int fd) noexcept;
  std::vector<ListeningSocket>::iterator find(int listener) noexcept;
  detail::Fd accept(int listener) noexcept;
  void count_taken() noexcept;
  void keep(detail::Fd peer) noexcept;
  detail::Fd take(int fd) noexcept;
  void keep_reserve() noexcept;
  void accept_with_reserve(int listener) noexcept;
  pid_t busiest() const noexcept;
  void make_room() noexcept;
  void expire() noexcept;
  void set_timer() noexcept;
  void tell_once(std::string_view what) noexcept;

  const std::string_view name_;
  const TurnAway turn_away_;
  const std::chrono::milliseconds patience_;
  detail::Fd own_epoll_;
  const int epoll_;
  detail::Fd timer_;
  detail::Fd reserve_;
  std::vector<ListeningSocket> listeners_;
  std::vector<Silent> silent_;  ///< the one that has waited longest first
  int accepted_ = 0;            ///< peers accepted or turned away since next() last saw the backlog empty
  bool overflowed_ = false;
  bool told_ = false;  ///< whether the present trouble was logged
};

/// The text for a peer that was turned away: why is full, time_out or no_memory. "It" is the process that listens.
constexpr std::string_view turned_away_reason(Status why) noexcept {
  if (why == Status::no_memory) {
    return "it is out of memory";
  }
  return why == Status::time_out ? "it ended the connection, which had said nothing"
                                 : "it turned this connection away: it is out of file descriptors (raise its limit, "
                                   "ulimit -n), or too many "
                                   "connections to it say nothing";
}

}  // namespace pydoca::sim

#pragma once

#include "backend/sim/counter/bell.hpp"
#include "backend/sim/fabric/shared_page.hpp"
#include "backend/sim/fabric/wakes.hpp"
#include "backend/sim/memory/import_protocol.hpp"
#include "detail/fd.hpp"
#include "detail/thread/crash_point.hpp"

#include <memory>
#include <sys/socket.h>
#include <utility>

namespace pydoca::sim {

/// An importer's end of its bell.
class ImporterBell {
 public:
  /// page, socket: as OwnerBells::add() has made them; connection: to the owner, for notes. Throws not_permitted when
  /// they are something else, operating_system.
  ImporterBell(detail::Fd page, detail::Fd socket, detail::Fd connection, std::shared_ptr<Wakes> wakes)
      : socket_(std::move(socket)),
        connection_(std::move(connection)),
        wakes_(std::move(wakes)),
        page_(SharedPage<Bell>::map(page.get())),
        bell_(**page_) {
    require_wake_socket(socket_.get());
    wakes_->watch(socket_.get());
    bell_.importer_cpus().store(own_cpus());
  }

  /// The importer has changed the counter. Any thread may call it.
  void ring() noexcept {
    if (bell_.take_owner()) [[unlikely]] {
      bell_.importer_cpus().store(own_cpus());
      detail::crash_point();
      send_wake(socket_.get());
    }
    if (bell_.ask_to_relay()) [[unlikely]] {
      relay();
    }
  }
  /// Does what Counter::may_change_elsewhere() does.
  bool may_change_elsewhere(Cpus here) noexcept {
    bell_.importer_cpus().store(here);
    return bell_.is_silent() || bell_.owner_cpus().load().may_run_beside(here);
  }
  /// The importer's one sleeper.
  void arm() noexcept {
    if (++arms_ % max_unread_wakes == 0) {
      drain_wakes(socket_.get());
    }
    bell_.arm_importer();
    if (!is_known_sleeper_) {
      bell_.set_sleeper();
      detail::crash_point();
      is_known_sleeper_ = send_note();
    }
  }
  bool is_silent() const noexcept { return bell_.is_silent(); }
  int wake_fd() const noexcept { return wakes_->fd(); }

 private:
  void relay() noexcept {
    bell_.importer_cpus().store(own_cpus());
    if (!send_note()) {
      bell_.clear_relay();
    }
  }
  bool send_note() noexcept {
    return ::send(connection_.get(), &importers_note, sizeof importers_note, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
  }

  const detail::Fd socket_;
  const detail::Fd connection_;
  const std::shared_ptr<Wakes> wakes_;
  const std::unique_ptr<SharedPage<Bell>> page_;
  Bell& bell_;
  unsigned arms_ = 0;
  bool is_known_sleeper_ = false;
};

}  // namespace pydoca::sim

#pragma once

#include "backend/sim/counter/doorbell.hpp"
#include "backend/sim/fabric/shared_page.hpp"
#include "backend/sim/fabric/wakes.hpp"
#include "backend/sim/memory/import_protocol.hpp"
#include "detail/fd.hpp"
#include "detail/thread/crash_point.hpp"

#include <memory>
#include <sys/socket.h>
#include <utility>

namespace pydoca::sim {

/// An importer's end of its doorbell.
class ImporterDoorbell {
 public:
  /// page, socket: as OwnerDoorbells::add() has made them; connection: to the owner, for wake bytes. Throws
  /// not_permitted when they are something else, operating_system.
  ImporterDoorbell(detail::Fd page, detail::Fd socket, detail::Fd connection, std::shared_ptr<Wakes> wakes)
      : socket_(std::move(socket)),
        connection_(std::move(connection)),
        wakes_(std::move(wakes)),
        page_(SharedPage<Doorbell>::map(page.get())),
        doorbell_(**page_) {
    require_wake_socket(socket_.get());
    wakes_->watch(socket_.get());
    doorbell_.importer_cpus().store(own_cpus());
  }

  /// The importer has changed the counter. Any thread may call it.
  void ring() noexcept {
    if (doorbell_.take_owner()) [[unlikely]] {
      doorbell_.importer_cpus().store(own_cpus());
      detail::crash_point();
      send_wake(socket_.get());
    }
    if (doorbell_.ask_to_relay()) [[unlikely]] {
      relay();
    }
  }
  /// Does what Counter::may_change_elsewhere() does.
  bool may_change_elsewhere(Cpus here) noexcept {
    doorbell_.importer_cpus().store(here);
    return doorbell_.is_silent() || doorbell_.owner_cpus().load().may_run_beside(here);
  }
  /// The importer's one sleeper.
  void arm() noexcept {
    if (++arms_ % max_unread_wakes == 0) {
      drain_wakes(socket_.get());
    }
    doorbell_.arm_importer();
    if (!is_known_sleeper_) {
      doorbell_.set_sleeper();
      detail::crash_point();
      is_known_sleeper_ = send_wake_byte();
    }
  }
  bool is_silent() const noexcept { return doorbell_.is_silent(); }
  int wake_fd() const noexcept { return wakes_->fd(); }

 private:
  void relay() noexcept {
    doorbell_.importer_cpus().store(own_cpus());
    if (!send_wake_byte()) {
      doorbell_.clear_relay();
    }
  }
  bool send_wake_byte() noexcept {
    return ::send(connection_.get(), &wake_byte, sizeof wake_byte, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
  }

  const detail::Fd socket_;
  const detail::Fd connection_;
  const std::shared_ptr<Wakes> wakes_;
  const std::unique_ptr<SharedPage<Doorbell>> page_;
  Doorbell& doorbell_;
  unsigned arms_ = 0;
  bool is_known_sleeper_ = false;
};

}  // namespace pydoca::sim

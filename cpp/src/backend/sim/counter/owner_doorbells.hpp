#pragma once

#include "backend/sim/counter/doorbell.hpp"
#include "backend/sim/fabric/service.hpp"
#include "backend/sim/fabric/wakes.hpp"
#include "detail/fd.hpp"
#include "detail/thread/atomic.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace pydoca::sim {

/// The owner's end of a counter's doorbells: one for each importer, so that an importer can disturb no other. ring()
/// may run in any thread while importers come and go; so a doorbell's address and the number of its socket never become
/// invalid: when its importer has gone, a blank page takes the place of the doorbell, and a file that refuses to send
/// the place of the socket.
class OwnerDoorbells {
 public:
  static constexpr std::size_t max_importers = 1024;

  /// silent: as Doorbell::set_silent(). Throws operating_system.
  explicit OwnerDoorbells(bool silent) : silent_(silent) { cpus_.store(own_cpus()); }
  ~OwnerDoorbells();
  OwnerDoorbells(const OwnerDoorbells&) = delete;
  OwnerDoorbells& operator=(const OwnerDoorbells&) = delete;

  // Any thread:
  /// The owner has changed the counter.
  void ring() noexcept {
    if (armed_.load(std::memory_order_seq_cst) != 0) [[unlikely]] {
      ring_owner();
    }
    const std::size_t count = count_.load(std::memory_order_seq_cst);
    for (std::size_t slot = 0; slot < count; ++slot) {
      wake(slot);
    }
  }
  void wake_owner() noexcept { wakes_.wake(); }
  /// Does what Counter::may_change_elsewhere() does. When an importer changes the counter by way of the owner, the
  /// others know where that was.
  bool may_change_elsewhere(Cpus here) noexcept;

  // The owner's sleeper:
  void arm() noexcept;
  int wake_fd() const noexcept { return wakes_.fd(); }

  // The caller has the service's lock:
  /// A doorbell for one more importer: its page and the importer's end of its socket. Throws full, operating_system.
  std::vector<detail::Fd> add(Service::Id importer);
  void remove(Service::Id importer) noexcept;
  /// The importer has sent a wake byte: it has begun to sleep at times, or has changed the counter.
  void hear(Service::Id importer) noexcept;
  void wake_all() noexcept;

 private:
  struct Places {
    std::array<detail::Atomic<int>, max_importers> sockets{};
    std::array<Service::Id, max_importers> importers{};  ///< 0: free
    std::array<bool, max_importers> sleepers{};
  };

  Doorbell& doorbell(std::size_t slot) const noexcept {
    return *reinterpret_cast<Doorbell*>(pages_ + slot * page_size_);
  }
  void ring_owner() noexcept;
  void reserve();
  std::size_t free_slot() const;
  std::size_t slot_of(Service::Id importer) const noexcept;
  bool has_sleepers() const noexcept;
  void place(std::size_t slot, int page, detail::Fd socket);
  void wake(std::size_t slot) noexcept {
    if (doorbell(slot).take_importer()) [[unlikely]] {
      doorbell(slot).owner_cpus().store(own_cpus());
      send_wake(places_->sockets[slot].load(std::memory_order_relaxed));
    }
  }
  void wake_for(std::size_t slot, Cpus changer) noexcept;
  void wake_others(std::size_t slot, Cpus changer) noexcept;

  const bool silent_;
  detail::Atomic<std::uint32_t> armed_{0};
  detail::Atomic<std::size_t> count_{0};  ///< slots that may have an importer
  std::byte* pages_ = nullptr;            ///< null before the first importer
  std::size_t page_size_ = 0;
  std::unique_ptr<Places> places_;
  unsigned arms_ = 0;
  detail::SharedCpus cpus_;        ///< where the owner was when it told the importers last
  detail::SharedCpus waker_cpus_;  ///< where the thread of this process was that woke its sleeper last
  Wakes wakes_;
};

}  // namespace pydoca::sim

#pragma once

#include "backend/verbs/library.hpp"
#include "detail/fd.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace pydoca::verbs {

/// What a driver says of queues by itself (ibv_get_async_event), brought to those whom it may concern. Whoever reads
/// the device's events delivers them to all inboxes of the device. From any thread.
class AsyncEvents {
 public:
  enum class Kind : std::uint8_t {
    pair_failed,   ///< IBV_EVENT_QP_FATAL
    peer_erred,    ///< IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR: of a pair, too
    queue_failed,  ///< IBV_EVENT_CQ_ERR, IBV_EVENT_SRQ_ERR
    port_down,     ///< IBV_EVENT_PORT_ERR
  };
  struct News {
    Kind kind;
    std::uint32_t pair = 0;       ///< its number
    const void* queue = nullptr;  ///< an ibv_cq or ibv_srq; not to be dereferenced
  };

  /// Of one queue, and its thread's.
  class Inbox {
   public:
    /// Throws operating_system.
    explicit Inbox(AsyncEvents& events);
    ~Inbox();
    Inbox(const Inbox&) = delete;
    Inbox& operator=(const Inbox&) = delete;

    /// Readable while there is something.
    int fd() const noexcept { return bell_.get(); }
    /// Costs nothing.
    bool empty() const noexcept { return empty_.load(std::memory_order_acquire); }
    std::vector<News> take();

   private:
    friend class AsyncEvents;
    void put(const News& news);

    AsyncEvents& events_;
    const detail::Fd bell_;
    std::mutex mutex_;
    std::vector<News> news_;
    std::atomic<bool> empty_{true};
  };

  /// Before it is acknowledged: what it is about cannot be destroyed until then. Most kinds concern nobody.
  void deliver(const ibv_async_event& event);

 private:
  std::mutex mutex_;
  std::vector<Inbox*> inboxes_;
};

}  // namespace pydoca::verbs

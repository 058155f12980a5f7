#pragma once

#include "backend/verbs/library/library.hpp"
#include "detail/fd.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace pydoca::verbs {

/// The asynchronous events of a driver about queues (ibv_get_async_event). The thread that reads the device's events
/// delivers them to the inboxes of all queues of the device. From any thread.
class AsyncEvents {
 public:
  enum class Type : std::uint8_t {
    pair_failed,   ///< IBV_EVENT_QP_FATAL
    peer_erred,    ///< IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR: also a pair's
    queue_failed,  ///< IBV_EVENT_CQ_ERR, IBV_EVENT_SRQ_ERR
    port_down,     ///< IBV_EVENT_PORT_ERR
  };
  struct Event {
    Type type;
    std::uint32_t pair = 0;       ///< its number
    const void* queue = nullptr;  ///< an ibv_cq or ibv_srq; not to be dereferenced
  };

  /// The events of one queue, which belongs to one thread.
  class Inbox {
   public:
    /// Throws operating_system.
    explicit Inbox(AsyncEvents& events);
    ~Inbox();
    Inbox(const Inbox&) = delete;
    Inbox& operator=(const Inbox&) = delete;

    /// Readable while there is something.
    int fd() const noexcept { return doorbell_.get(); }
    /// Makes no system call.
    bool empty() const noexcept { return empty_.load(std::memory_order_acquire); }
    std::vector<Event> take();

   private:
    friend class AsyncEvents;
    void put(const Event& event);

    AsyncEvents& events_;
    const detail::Fd doorbell_;
    std::mutex mutex_;
    std::vector<Event> waiting_;
    std::atomic<bool> empty_{true};
  };

  /// Delivers the event; called before the event is acknowledged: until then its queue cannot be destroyed. Ignores the
  /// types that Type does not name.
  void deliver(const ibv_async_event& event);

 private:
  std::mutex mutex_;
  std::vector<Inbox*> inboxes_;
};

}  // namespace pydoca::verbs

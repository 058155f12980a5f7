#include "backend/verbs/adapter/async_events.hpp"

#include "backend/verbs/adapter/adapter.hpp"
#include "backend/verbs/library/failure.hpp"

#include <cerrno>
#include <optional>
#include <sys/eventfd.h>
#include <utility>

namespace pydoca::verbs {

namespace {

std::optional<AsyncEvents::Event> event_of(const ibv_async_event& event) noexcept {
  using Type = AsyncEvents::Type;
  switch (event.event_type) {
    case IBV_EVENT_QP_FATAL:
      return AsyncEvents::Event{.type = Type::pair_failed, .pair = event.element.qp->qp_num};
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      return AsyncEvents::Event{.type = Type::peer_erred, .pair = event.element.qp->qp_num};
    case IBV_EVENT_CQ_ERR:
      return AsyncEvents::Event{.type = Type::queue_failed, .queue = event.element.cq};
    case IBV_EVENT_SRQ_ERR:
      return AsyncEvents::Event{.type = Type::queue_failed, .queue = event.element.srq};
    case IBV_EVENT_PORT_ERR:
      return std::cmp_equal(event.element.port_num, the_port)
                 ? std::optional(AsyncEvents::Event{.type = Type::port_down})
                 : std::nullopt;
    default:
      return std::nullopt;  // IBV_EVENT_DEVICE_FATAL is a removal
  }
}

}  // namespace

AsyncEvents::Inbox::Inbox(AsyncEvents& events) : events_(events), doorbell_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!doorbell_) {
    fail(errno, "start rdma: eventfd");
  }
  const std::lock_guard lock(events_.mutex_);
  events_.inboxes_.push_back(this);
}

AsyncEvents::Inbox::~Inbox() {
  const std::lock_guard lock(events_.mutex_);
  std::erase(events_.inboxes_, this);
}

void AsyncEvents::Inbox::put(const Event& event) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(event);
  empty_.store(false, std::memory_order_release);
  ::eventfd_write(doorbell_.get(), 1);
}

std::vector<AsyncEvents::Event> AsyncEvents::Inbox::take() {
  const std::lock_guard lock(mutex_);
  eventfd_t rings = 0;
  ::eventfd_read(doorbell_.get(), &rings);
  empty_.store(true, std::memory_order_release);
  return std::exchange(waiting_, {});
}

void AsyncEvents::deliver(const ibv_async_event& event) {
  const std::optional<Event> ours = event_of(event);
  if (!ours.has_value()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  for (Inbox* const inbox : inboxes_) {
    inbox->put(*ours);
  }
}

}  // namespace pydoca::verbs

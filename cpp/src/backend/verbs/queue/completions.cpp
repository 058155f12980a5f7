#include "backend/verbs/queue/completions.hpp"

#include "backend/verbs/library/failure.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/epoll.h>

namespace pydoca::verbs {

namespace {

OwnedChannel create_channel(const Place& place, const char* what) {
  OwnedChannel channel(library().create_comp_channel(place.context()));
  if (channel == nullptr || ::fcntl(channel->fd, F_SETFL, ::fcntl(channel->fd, F_GETFL) | O_NONBLOCK) != 0) {
    fail(errno, what, ": create a completion channel on ", place.adapter().name());
  }
  return channel;
}

OwnedCompletions create_queue(const Place& place, std::uint32_t depth, ibv_comp_channel* channel, const char* what) {
  OwnedCompletions queue(library().create_cq(place.context(), static_cast<int>(depth), nullptr, channel, 0));
  if (queue == nullptr) {
    fail(errno, what, ": create a completion queue of ", depth, " on ", place.adapter().name());
  }
  return queue;
}

}  // namespace

Completions::Completions(Place& place, std::uint32_t depth, const char* what)
    : place_(place),
      channel_(create_channel(place, what)),
      queue_(create_queue(place, depth, channel_.get(), what)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  watch(channel_->fd, what);
  place_.removal().watch(epoll_.get());
}

void Completions::watch(int fd, const char* what) const {
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  if (!epoll_ || ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    fail(errno, what, ": epoll");
  }
}

Completions::~Completions() {
  if (unacknowledged_ != 0) {
    library().ack_cq_events(queue_.get(), unacknowledged_);
  }
}

void Completions::arm() noexcept {
  ibv_req_notify_cq(queue_.get(), 0);
  armed_ = true;
}

void Completions::empty_channel() noexcept {
  armed_ = false;
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  while (library().get_cq_event(channel_.get(), &queue, &context) == 0) {
    ++unacknowledged_;
  }
}

bool Completions::notice_removal() noexcept {
  if (!place_.removal().notice()) {
    return false;
  }
  if (std::exchange(watches_removal_, false)) {
    place_.removal().unwatch(epoll_.get());
  }
  return true;
}

}  // namespace pydoca::verbs

#include "backend/verbs/adapter/removal.hpp"

#include "backend/verbs/library/failure.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string_view>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

namespace pydoca::verbs {

namespace {

/// The kernel's announcements of devices that come and go; empty where the system forbids to read them.
detail::Fd hear_announcements() noexcept {
  detail::Fd socket(::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = 1;  // the kernel's own, not those of the device manager
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return {};
  }
  return socket;
}

}  // namespace

Removal::Removal(ibv_context& context, bool borrowed, AsyncEvents& events)
    : async_fd_(borrowed ? -1 : context.async_fd),
      context_(context),
      events_(events),
      sysfs_path_(context.device->dev_path),
      announcement_end_(detail::concat("/infiniband_verbs/", static_cast<const char*>(context.device->dev_name))),
      announcements_(hear_announcements()),
      noticed_file_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  const int flags = borrowed ? 0 : ::fcntl(async_fd_, F_GETFL);
  if (!noticed_file_ || flags < 0 || (!borrowed && ::fcntl(async_fd_, F_SETFL, flags | O_NONBLOCK) != 0)) {
    fail(errno, "open ", static_cast<const char*>(context.device->name));
  }
}

bool Removal::notice() noexcept {
  if (noticed()) {
    return true;
  }
  std::array<pollfd, 2> files{{{.fd = async_fd_, .events = POLLIN, .revents = 0},
                               {.fd = announcements_.get(), .events = POLLIN, .revents = 0}}};
  if (::poll(files.data(), files.size(), 0) <= 0) {
    return noticed();
  }
  const bool gone = (files[0].revents != 0 && read_async_events()) || (files[1].revents != 0 && read_announcements());
  if (gone && !noticed_.exchange(true, std::memory_order_seq_cst)) {
    ::eventfd_write(noticed_file_.get(), 1);
  }
  return noticed();
}

bool Removal::read_async_events() noexcept {
  bool gone = false;
  ibv_async_event event{};
  while (library().get_async_event(&context_, &event) == 0) {
    gone |= event.event_type == IBV_EVENT_DEVICE_FATAL;
    events_.deliver(event);
    library().ack_async_event(&event);
  }
  return gone || errno == EIO || errno == ENODEV;
}

bool Removal::read_announcements() noexcept {
  std::array<char, 4096> text;
  for (;;) {
    const ssize_t size = ::recv(announcements_.get(), text.data(), text.size() - 1, MSG_DONTWAIT);
    if (size < 0 && errno == ENOBUFS) {  // some were lost
      if (::access(sysfs_path_.c_str(), F_OK) != 0) {
        return true;
      }
      continue;
    }
    if (size <= 0) {
      return false;
    }
    text[static_cast<std::size_t>(size)] = '\0';
    if (is_of_device(text.data())) {
      return true;
    }
  }
}

/// "remove@/devices/.../infiniband_verbs/uverbs0", and what follows the first NUL does not matter.
bool Removal::is_of_device(const char* announcement) const noexcept {
  const std::string_view head(announcement);
  return head.starts_with("remove@") && head.ends_with(announcement_end_);
}

void Removal::watch(int epoll_fd) const {
  for (const int fd : {async_fd_, announcements_.get(), noticed_file_.get()}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    if (fd >= 0 && ::epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
      fail(errno, "watch ", static_cast<const char*>(context_.device->name));
    }
  }
}

void Removal::unwatch(int epoll_fd) const noexcept {
  for (const int fd : {async_fd_, announcements_.get(), noticed_file_.get()}) {
    ::epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, nullptr);
  }
}

}  // namespace pydoca::verbs

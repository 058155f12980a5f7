#include "pydoca/virtual_time.hpp"

#include "pydoca/status.hpp"

#include "detail/time/virtual_clock.hpp"

#include <poll.h>

namespace pydoca::sim {

namespace {

class Readable final : public detail::VirtualClock::Condition {
 public:
  explicit Readable(int fd) noexcept : file_{.fd = fd, .events = POLLIN, .revents = 0} {}
  bool holds() noexcept override { return ::poll(&file_, 1, 0) > 0; }

 private:
  pollfd file_;
};

detail::VirtualClock& clock() { return detail::VirtualClock::instance(); }

}  // namespace

VirtualTime::VirtualTime(const VirtualTimeOptions& options) {
  if (!clock().begin(options)) {
    throw Error(Status::bad_state, "virtual time: the process has it already; end that first");
  }
}

VirtualTime::~VirtualTime() { clock().end(); }

bool VirtualTime::is_on() noexcept { return detail::is_time_virtual(); }

std::chrono::nanoseconds VirtualTime::now() noexcept {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(detail::now()));
}

Wake VirtualTime::wait(int fd, std::chrono::nanoseconds until) noexcept {
  Readable readable(fd);
  const bool for_ever = until == std::chrono::nanoseconds::max();
  return clock().wait(fd < 0 ? nullptr : &readable,
                      for_ever ? detail::never : static_cast<std::uint64_t>(until.count()));
}

void VirtualTime::look_in_vain(std::uint64_t work) noexcept { clock().look_in_vain(work); }
Wake VirtualTime::join() noexcept { return clock().join(); }
void VirtualTime::leave() noexcept { clock().leave(); }
std::uint64_t VirtualTime::num_threads() noexcept { return clock().num_participants(); }
std::uint64_t VirtualTime::digest() noexcept { return clock().digest(); }

}  // namespace pydoca::sim

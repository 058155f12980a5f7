#include "failure/scenario.hpp"

#include <array>
#include <poll.h>

namespace pydoca::failure {
namespace {

constexpr int patience_ms = 10'000;

}  // namespace

bool progress(std::initializer_list<ProgressEngine*> engines) noexcept {
  bool advanced = false;
  for (ProgressEngine* const engine : engines) {
    advanced = engine->progress() != 0 || advanced;
  }
  if (advanced) {
    return true;
  }
  std::array<pollfd, 4> handles{};
  std::size_t count = 0;
  for (ProgressEngine* const engine : engines) {
    engine->request_notification();
    handles[count++] = {.fd = engine->notification_handle(), .events = POLLIN, .revents = 0};
  }
  const bool woken = ::poll(handles.data(), count, patience_ms) > 0;
  for (ProgressEngine* const engine : engines) {
    engine->clear_notification();
  }
  return woken;
}

}  // namespace pydoca::failure

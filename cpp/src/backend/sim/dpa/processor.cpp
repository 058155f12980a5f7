#include "backend/sim/dpa/processor.hpp"

#include "pydoca/status.hpp"

#include "detail/concat.hpp"
#include "detail/thread/signals_blocked.hpp"
#include "detail/time/virtual_clock.hpp"

#include <pthread.h>
#include <system_error>
#include <thread>
#include <utility>

namespace pydoca::sim {

namespace {

detail::VirtualClock& clock() { return detail::VirtualClock::instance(); }

/// Begins threads so that in virtual time each has its place in the clock before the next one begins: each run has the
/// same order.
template <class Begin>
void begin_in_order(Begin begin) {
  if (!detail::is_time_virtual()) {
    begin();
    return;
  }
  static_cast<void>(clock().join());
  const std::uint64_t before = clock().num_participants();
  begin();
  while (clock().num_participants() == before && detail::is_time_virtual()) {
    std::this_thread::yield();
  }
}

void run_in_turn(const std::function<void()>& work) {
  if (!detail::is_time_virtual()) {
    work();
    return;
  }
  static_cast<void>(clock().join());
  work();
  clock().leave();
}

}  // namespace

void Processor::start(std::function<void()> work) {
  begin_in_order([&] { start_thread(std::move(work)); });
}

void Processor::start_thread(std::function<void()> work) const {
  const detail::SignalsBlocked blocked;  // the thread inherits this
  try {
    std::thread thread([work = std::move(work)] { run_in_turn(work); });
    ::pthread_setname_np(thread.native_handle(), detail::concat("dpa-", device_).substr(0, 15).c_str());
    thread.detach();
  } catch (const std::system_error& error) {
    throw Error(Status::operating_system, detail::concat("start a thread of the DPA of ", device_, ": ", error.what()));
  }
}

}  // namespace pydoca::sim

#include "backend/sim/dpa/processor.hpp"

#include "pydoca/status.hpp"

#include "detail/concat.hpp"
#include "detail/signals_blocked.hpp"

#include <pthread.h>
#include <system_error>
#include <thread>
#include <utility>

namespace pydoca::sim {

void Processor::start(std::function<void()> work) {
  const detail::SignalsBlocked blocked;  // which the thread inherits
  try {
    std::thread thread([work = std::move(work)] { work(); });
    ::pthread_setname_np(thread.native_handle(), detail::concat("dpa-", device_).substr(0, 15).c_str());
    thread.detach();
  } catch (const std::system_error& error) {
    throw Error(Status::operating_system, detail::concat("start a thread of the DPA of ", device_, ": ", error.what()));
  }
}

}  // namespace pydoca::sim

#include "library/dpa/dpa_run.hpp"

#include "pydoca/device.hpp"
#include "pydoca/interrupt.hpp"

#include "detail/concat.hpp"
#include "detail/time/time.hpp"
#include "detail/wait_limit.hpp"
#include "library/virtual_wait.hpp"

#include <exception>
#include <limits>
#include <new>
#include <utility>

namespace pydoca::library {

bool KernelThread::is_stopping() const noexcept {
  detail::look_in_virtual_time();
  return state_->interruption() != Status::success;
}

KernelRun::KernelRun(std::shared_ptr<DpaState> state, DpaLaunch launch)
    : state_(std::move(state)),
      launch_(std::move(launch)),
      threads_left_(launch_.num_threads),
      threads_running_(launch_.num_threads) {}

void KernelRun::abandon(std::uint32_t threads) noexcept {
  if (state_->is_inherited()) {
    return;
  }
  for (std::uint32_t i = 0; i < threads; ++i) {
    end_thread(Status::shutdown);
  }
}

std::unique_ptr<DpaThread> KernelRun::thread(std::uint32_t rank) const {
  return std::make_unique<KernelThread>(state_, rank, launch_);
}

void KernelRun::execute(std::uint32_t rank, const DpaKernel& kernel) noexcept {
  KernelThread thread(state_, rank, launch_);
  try {
    while (next_turn(thread)) {
      kernel(thread, launch_.argument);
    }
  } catch (const std::exception& error) {
    fail(thread, error.what());
  } catch (...) {
    fail(thread, "an exception of an unknown type");
  }
  end(thread);
}

void KernelRun::fail(DpaThread& failed, const char* why) noexcept {
  auto& thread = static_cast<KernelThread&>(failed);
  thread.status = state_->interruption();
  if (thread.status != Status::success) {
    return;
  }
  thread.status = Status::io_failed;
  try {
    state_->fail(detail::concat("kernel \"", launch_.kernel, "\", thread ", thread.rank(), ": ", why));
  } catch (const std::bad_alloc&) {
    state_->fail({});
  }
}

bool KernelRun::next_turn(DpaThread& idle) noexcept {
  auto& thread = static_cast<KernelThread&>(idle);
  if (thread.has_run && (!launch_.repeats || thread.finished)) {
    thread.status = state_->failed.load(std::memory_order_acquire) ? Status::io_failed : Status::success;
    return false;
  }
  thread.status = wait_for_turn(thread);
  thread.has_run = true;
  return thread.status == Status::success;
}

Status KernelRun::wait_for_turn(KernelThread& thread) noexcept {
  if (launch_.wait_event != nullptr) {
    const Status status = launch_.wait_event->wait_gt(thread.seen, std::numeric_limits<std::uint64_t>::max());
    return status == Status::success && launch_.repeats ? launch_.wait_event->get(thread.seen) : status;
  }
  if (detail::is_time_virtual()) [[unlikely]] {
    return wait_for_turn_in_virtual_time(thread);
  }
  std::unique_lock lock(state_->mutex);
  const auto is_due = [&] { return !launch_.repeats || notifications_ > thread.notifications; };
  Status status = state_->interruption();
  while (status == Status::success && !is_due()) {
    state_->changed.wait_for(lock, interrupt_slice);  // a removal does not notify
    status = state_->interruption();
  }
  thread.notifications = notifications_;
  return status;
}

Status KernelRun::wait_for_turn_in_virtual_time(KernelThread& thread) noexcept {
  const auto is_over = [&] {
    const std::lock_guard lock(state_->mutex);
    return !launch_.repeats || notifications_ > thread.notifications || state_->interruption() != Status::success;
  };
  const Status waited = detail::wait_in_virtual_time(is_over, DpaSyncEvent::forever);
  const std::lock_guard lock(state_->mutex);
  thread.notifications = notifications_;
  const Status status = state_->interruption();
  return status == Status::success ? waited : status;
}

void KernelRun::end(const DpaThread& thread) noexcept { end_thread(static_cast<const KernelThread&>(thread).status); }

void KernelRun::end_thread(Status status) noexcept {
  bool is_last = false;
  {
    const std::lock_guard lock(state_->mutex);
    if (status_ == Status::success) {
      status_ = status;
    }
    is_last = --threads_running_ == 0;
    status = status_;
  }
  if (is_last && status == Status::success && launch_.done_event != nullptr) {
    std::uint64_t before = 0;
    status = launch_.done_adds ? launch_.done_event->update_add(launch_.done_value, before)
                               : launch_.done_event->update_set(launch_.done_value);
  }
  const std::lock_guard lock(state_->mutex);
  status_ = is_last ? status : status_;
  --threads_left_;
  --state_->threads;
  state_->changed.notify_all();
}

bool KernelRun::is_done() const noexcept {
  if (state_->is_inherited()) {
    return true;
  }
  const std::lock_guard lock(state_->mutex);
  return threads_left_ == 0;
}

void KernelRun::notify() noexcept {
  if (state_->is_inherited()) {
    return;
  }
  const std::lock_guard lock(state_->mutex);
  ++notifications_;
  state_->changed.notify_all();
}

Status KernelRun::wait(std::chrono::nanoseconds timeout) noexcept {
  if (state_->is_inherited()) {
    return Status::bad_state;
  }
  if (detail::is_time_virtual()) [[unlikely]] {
    return wait_in_virtual_time(timeout);
  }
  detail::WaitLimit limit(timeout, interrupt_slice);
  std::unique_lock lock(state_->mutex);
  while (threads_left_ != 0 && !state_->failed.load(std::memory_order_relaxed)) {
    lock.unlock();
    const Status status = limit.check();
    lock.lock();
    if (status != Status::success && threads_left_ != 0) {
      return status;
    }
    if (threads_left_ != 0) {
      state_->changed.wait_for(lock, interrupt_slice);
    }
  }
  return threads_left_ == 0 ? status_ : Status::io_failed;
}

Status KernelRun::wait_in_virtual_time(std::chrono::nanoseconds timeout) noexcept {
  const auto is_over = [&] {
    const std::lock_guard lock(state_->mutex);
    return threads_left_ == 0 || state_->failed.load(std::memory_order_relaxed);
  };
  const Status waited = detail::wait_in_virtual_time(is_over, timeout);
  const std::lock_guard lock(state_->mutex);
  if (threads_left_ == 0) {
    return status_;
  }
  return state_->failed.load(std::memory_order_relaxed) ? Status::io_failed : waited;
}

std::string KernelRun::explain(Status status) const {
  switch (status) {
    case Status::io_failed: {
      const std::lock_guard lock(state_->mutex);
      return detail::concat("the DPA is in a fatal error state: ", state_->failure);
    }
    case Status::shutdown:
      return "the DPA was stopped before its threads were done";
    case Status::driver:
      return detail::concat(state_->device->info().name(), " was removed");
    case Status::time_out:
      return "the time allowed has passed, and its threads are not done";
    case Status::bad_state:
      return state_->is_inherited() ? "a forked child has none of the threads; create a DPA there"
                                    : "an event that it uses was stopped or closed";
    default:
      return std::string(error_descr(status));
  }
}

}  // namespace pydoca::library

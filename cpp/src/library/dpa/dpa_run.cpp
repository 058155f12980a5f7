#include "pydoca/device.hpp"
#include "pydoca/dpa.hpp"
#include "pydoca/interrupt.hpp"

#include "detail/concat.hpp"
#include "detail/time/time.hpp"
#include "detail/wait_limit.hpp"
#include "library/dpa/dpa_state.hpp"
#include "library/virtual_wait.hpp"

#include <exception>
#include <limits>
#include <new>
#include <utility>

namespace pydoca {

/// Under the state's mutex.
struct DpaRun::Progress {
  std::uint32_t threads_left;  ///< until done_event was changed, too
  std::uint32_t threads_running;
  std::uint64_t notifications = 0;
  Status status = Status::success;
};

bool DpaThread::is_stopping() const noexcept {
  detail::look_in_virtual_time();
  return state_->interruption() != Status::success;
}

DpaRun::DpaRun(std::shared_ptr<library::DpaState> state, DpaLaunch launch)
    : state_(std::move(state)),
      launch_(std::move(launch)),
      progress_(std::make_unique<Progress>(
          Progress{.threads_left = launch_.num_threads, .threads_running = launch_.num_threads})) {}

/// A run whose threads never came gives their places back.
DpaRun::~DpaRun() { abandon(progress_->threads_left); }

void DpaRun::abandon(std::uint32_t threads) noexcept {
  if (state_->is_inherited()) {
    return;
  }
  for (std::uint32_t i = 0; i < threads; ++i) {
    end_thread(Status::shutdown);
  }
}

std::unique_ptr<DpaThread> DpaRun::thread(std::uint32_t rank) const {
  return std::unique_ptr<DpaThread>(new DpaThread(state_, rank, launch_.num_threads, launch_.wait_threshold));
}

void DpaRun::execute(std::uint32_t rank, const DpaKernel& kernel) noexcept {
  DpaThread thread(state_, rank, launch_.num_threads, launch_.wait_threshold);
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

void DpaRun::fail(DpaThread& thread, const char* why) noexcept {
  thread.status_ = state_->interruption();
  if (thread.status_ != Status::success) {
    return;
  }
  thread.status_ = Status::io_failed;
  try {
    state_->fail(detail::concat("kernel \"", launch_.kernel, "\", thread ", thread.rank_, ": ", why));
  } catch (const std::bad_alloc&) {
    state_->fail({});
  }
}

bool DpaRun::next_turn(DpaThread& thread) noexcept {
  if (thread.has_run_ && (!launch_.repeats || thread.finished_)) {
    thread.status_ = state_->failed.load(std::memory_order_acquire) ? Status::io_failed : Status::success;
    return false;
  }
  thread.status_ = wait_for_turn(thread);
  thread.has_run_ = true;
  return thread.status_ == Status::success;
}

Status DpaRun::wait_for_turn(DpaThread& thread) noexcept {
  if (launch_.wait_event != nullptr) {
    const Status status = launch_.wait_event->wait_gt(thread.seen_, std::numeric_limits<std::uint64_t>::max());
    return status == Status::success && launch_.repeats ? launch_.wait_event->get(thread.seen_) : status;
  }
  if (detail::is_time_virtual()) [[unlikely]] {
    return wait_for_turn_in_virtual_time(thread);
  }
  std::unique_lock lock(state_->mutex);
  const auto is_due = [&] { return !launch_.repeats || progress_->notifications > thread.notifications_; };
  Status status = state_->interruption();
  while (status == Status::success && !is_due()) {
    state_->changed.wait_for(lock, interrupt_slice);  // a removal does not notify
    status = state_->interruption();
  }
  thread.notifications_ = progress_->notifications;
  return status;
}

Status DpaRun::wait_for_turn_in_virtual_time(DpaThread& thread) noexcept {
  const auto is_over = [&] {
    const std::lock_guard lock(state_->mutex);
    return !launch_.repeats || progress_->notifications > thread.notifications_ ||
           state_->interruption() != Status::success;
  };
  const Status waited = detail::wait_in_virtual_time(is_over, DpaSyncEvent::forever);
  const std::lock_guard lock(state_->mutex);
  thread.notifications_ = progress_->notifications;
  const Status status = state_->interruption();
  return status == Status::success ? waited : status;
}

void DpaRun::end_thread(Status status) noexcept {
  bool is_last = false;
  {
    const std::lock_guard lock(state_->mutex);
    if (progress_->status == Status::success) {
      progress_->status = status;
    }
    is_last = --progress_->threads_running == 0;
    status = progress_->status;
  }
  if (is_last && status == Status::success && launch_.done_event != nullptr) {
    std::uint64_t before = 0;
    status = launch_.done_adds ? launch_.done_event->update_add(launch_.done_value, before)
                               : launch_.done_event->update_set(launch_.done_value);
  }
  const std::lock_guard lock(state_->mutex);
  progress_->status = is_last ? status : progress_->status;
  --progress_->threads_left;
  --state_->threads;
  state_->changed.notify_all();
}

bool DpaRun::is_done() const noexcept {
  if (state_->is_inherited()) {
    return true;
  }
  const std::lock_guard lock(state_->mutex);
  return progress_->threads_left == 0;
}

void DpaRun::notify() noexcept {
  if (state_->is_inherited()) {
    return;
  }
  const std::lock_guard lock(state_->mutex);
  ++progress_->notifications;
  state_->changed.notify_all();
}

Status DpaRun::wait(std::chrono::nanoseconds timeout) noexcept {
  if (state_->is_inherited()) {
    return Status::bad_state;
  }
  if (detail::is_time_virtual()) [[unlikely]] {
    return wait_in_virtual_time(timeout);
  }
  detail::WaitLimit limit(timeout, interrupt_slice);
  std::unique_lock lock(state_->mutex);
  while (progress_->threads_left != 0 && !state_->failed.load(std::memory_order_relaxed)) {
    lock.unlock();
    const Status status = limit.check();
    lock.lock();
    if (status != Status::success && progress_->threads_left != 0) {
      return status;
    }
    if (progress_->threads_left != 0) {
      state_->changed.wait_for(lock, interrupt_slice);
    }
  }
  return progress_->threads_left == 0 ? progress_->status : Status::io_failed;
}

Status DpaRun::wait_in_virtual_time(std::chrono::nanoseconds timeout) noexcept {
  const auto is_over = [&] {
    const std::lock_guard lock(state_->mutex);
    return progress_->threads_left == 0 || state_->failed.load(std::memory_order_relaxed);
  };
  const Status waited = detail::wait_in_virtual_time(is_over, timeout);
  const std::lock_guard lock(state_->mutex);
  if (progress_->threads_left == 0) {
    return progress_->status;
  }
  return state_->failed.load(std::memory_order_relaxed) ? Status::io_failed : waited;
}

std::string DpaRun::explain(Status status) const {
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

}  // namespace pydoca

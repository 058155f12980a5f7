#pragma once

#include "pydoca/backend/processor.hpp"
#include "pydoca/device.hpp"
#include "pydoca/dpa.hpp"

#include "detail/thread/thread_token.hpp"

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace pydoca::library {

/// What a DPA, its runs and the handles of its kernels share: it outlives the DPA where they do.
struct DpaState {
  enum class Phase : std::uint8_t { configuring, running, stopping, stopped, closed };

  DpaState(std::shared_ptr<Device> of, std::unique_ptr<backend::Processor> made)
      : device(std::move(of)), use(device, DeviceUser::dpa), processor(std::move(made)) {}

  /// Why kernels and waits end: io_failed, shutdown, driver, bad_state in a forked child; or success.
  Status interruption() const noexcept {
    if (is_inherited()) [[unlikely]] {
      return Status::bad_state;
    }
    if (failed.load(std::memory_order_acquire)) {
      return Status::io_failed;
    }
    if (phase.load(std::memory_order_acquire) != Phase::running) {
      return Status::shutdown;
    }
    return device->removed() ? Status::driver : Status::success;
  }
  /// A forked child has none of the threads, and does not touch the mutex, which one of them may have held.
  bool is_inherited() const noexcept { return forks != detail::fork_count(); }

  /// The first failure stays.
  void fail(std::string text) noexcept;
  const std::shared_ptr<Device> device;
  DeviceUse use;
  const std::unique_ptr<backend::Processor> processor;
  const std::uint32_t forks = detail::fork_count();

  std::atomic<Phase> phase{Phase::configuring};
  std::atomic<bool> failed{false};

  mutable std::mutex mutex;         ///< guards all that follows
  std::condition_variable changed;  ///< a thread has ended, was notified, or should end
  std::map<std::string, DpaKernel, std::less<>> kernels;
  std::uint32_t threads = 0;
  std::string failure;
  std::vector<std::weak_ptr<DpaSyncEvent>> events;  ///< handles whose waits end with a failure
};

}  // namespace pydoca::library

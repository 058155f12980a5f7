#pragma once

#include "pydoca/dpa.hpp"
#include "pydoca/status.hpp"

#include "library/dpa/dpa_state.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace pydoca::library {

/// Only the run of its launch changes it.
class KernelThread final : public DpaThread {
 public:
  KernelThread(std::shared_ptr<const DpaState> state, std::uint32_t rank, const DpaLaunch& launch) noexcept
      : seen(launch.wait_threshold), state_(std::move(state)), rank_(rank), num_threads_(launch.num_threads) {}

  std::uint32_t rank() const noexcept override { return rank_; }
  std::uint32_t num_threads() const noexcept override { return num_threads_; }
  bool is_stopping() const noexcept override;
  void finish() noexcept override { finished = true; }

  std::uint64_t seen;               ///< the value of the launch's event that it has seen
  std::uint64_t notifications = 0;  ///< notifications that have led to a turn
  Status status = Status::success;  ///< why it ends
  bool has_run = false;
  bool finished = false;

 private:
  const std::shared_ptr<const DpaState> state_;
  const std::uint32_t rank_;
  const std::uint32_t num_threads_;
};

class KernelRun final : public DpaRun {
 public:
  KernelRun(std::shared_ptr<DpaState> state, DpaLaunch launch);
  /// A run whose threads never came gives their places back.
  ~KernelRun() override { abandon(threads_left_); }

  /// Runs in a thread of the DPA.
  void execute(std::uint32_t rank, const DpaKernel& kernel) noexcept;
  /// So many threads will not come.
  void abandon(std::uint32_t threads) noexcept;

  [[nodiscard]] Status wait(std::chrono::nanoseconds timeout) noexcept override;
  bool is_done() const noexcept override;
  void notify() noexcept override;
  std::string explain(Status status) const override;
  std::unique_ptr<DpaThread> thread(std::uint32_t rank) const override;
  bool next_turn(DpaThread& thread) noexcept override;
  void fail(DpaThread& thread, const char* why) noexcept override;
  void end(const DpaThread& thread) noexcept override;

 private:
  Status wait_for_turn(KernelThread& thread) noexcept;
  Status wait_for_turn_in_virtual_time(KernelThread& thread) noexcept;
  Status wait_in_virtual_time(std::chrono::nanoseconds timeout) noexcept;
  void end_thread(Status status) noexcept;

  const std::shared_ptr<DpaState> state_;
  const DpaLaunch launch_;

  // The state's mutex guards these.
  std::uint32_t threads_left_;  ///< counts a thread until it has also changed done_event
  std::uint32_t threads_running_;
  std::uint64_t notifications_ = 0;
  Status status_ = Status::success;
};

}  // namespace pydoca::library

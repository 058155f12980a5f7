#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/context.hpp"
#include "pydoca/device.hpp"
#include "pydoca/status.hpp"
#include "pydoca/task.hpp"

#include <cstdint>
#include <memory>

namespace pydoca::detail {
template <typename T>
class SlotPool;
}

namespace pydoca {

class Dma;

/// Copies src's data, in list order, to dst's tailrooms; on success dst's data_len grows by the copied length. On
/// failure part of dst may have been written. Overlap of src and dst is undefined.
class alignas(64) DmaMemcpyTask final : public Task, private backend::CopyOperation {
 public:
  using Task::status;
  Buf* src() const noexcept { return src_; }
  Buf* dst() const noexcept { return dst_; }
  /// Not while submitted (in_use).
  Status set_src(Buf* src) noexcept;
  Status set_dst(Buf* dst) noexcept;

 private:
  friend class Dma;
  friend class detail::SlotPool<DmaMemcpyTask>;

  explicit DmaMemcpyTask(Dma& dma) noexcept;
  Dma& dma() const noexcept;
  Status validate() const noexcept override;
  Status post(bool flush) noexcept override;
  void finish(Status status) noexcept override;
  Callback callback(Status status) const noexcept override;
  void recycle() noexcept override;

  Buf* src_ = nullptr;
  Buf* dst_ = nullptr;
  DmaMemcpyTask* next_free_ = nullptr;  ///< the pool's
};

/// The copy engine (DOCA DMA: doca_dma). Starts at once.
class Dma final : public Context {
 public:
  /// Throws not_supported when the device has no DMA engine.
  static std::shared_ptr<Dma> create(std::shared_ptr<Device> device);
  ~Dma() override;

  // Capabilities of a device; throw not_supported when it has no DMA engine.
  static bool is_supported(const DeviceInfo& info) noexcept;
  static std::uint64_t max_buf_size(const DeviceInfo& info);      ///< bytes per task
  static std::uint32_t max_buf_list_len(const DeviceInfo& info);  ///< elements; 1: no lists
  static std::uint32_t max_num_tasks(const DeviceInfo& info);

  /// doca_dma_task_memcpy_set_conf; while idle (bad_state), repeatable. num_tasks in 1..max_num_tasks (invalid_value).
  void set_memcpy_conf(Task::Callback on_success, Task::Callback on_error, std::uint32_t num_tasks);

  /// A task, not yet submitted (doca_dma_task_memcpy_alloc_init). no_memory when num_tasks are out, bad_state unless
  /// running.
  [[nodiscard]] Status memcpy(Buf* src, Buf* dst, std::uint64_t user_data, DmaMemcpyTask*& task) noexcept;

  void flush_tasks() noexcept override;
  std::string_view kind() const noexcept override { return "dma"; }

 private:
  friend class DmaMemcpyTask;
  explicit Dma(std::shared_ptr<Device> device);

  Status begin() override;
  void quiesce() noexcept override;
  void end() noexcept override;
  bool poll_one(bool& more) noexcept override;
  bool assist() noexcept override;
  bool look() noexcept override;
  void prepare_sleep() noexcept override;
  /// A task was posted: where the queue's completions ring nobody, the engine looks for them.
  void expect_completion() noexcept {
    if (is_polled_) {
      keep_looking();
    }
  }
  void look_for(std::size_t num_tasks) noexcept;
  /// Takes back what a context destroyed while it runs has in flight, so that the bufs come free.
  void reclaim_tasks() noexcept;

  Task::Callback on_success_ = nullptr;
  Task::Callback on_error_ = nullptr;
  std::uint32_t num_tasks_ = 0;
  bool is_polled_ = false;  ///< the queue has a descriptor of its own
  std::unique_ptr<detail::SlotPool<DmaMemcpyTask>> tasks_;
  std::unique_ptr<backend::CopyQueue> queue_;
};

}  // namespace pydoca

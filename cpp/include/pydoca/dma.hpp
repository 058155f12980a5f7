#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/device.hpp"
#include "pydoca/queue_context.hpp"
#include "pydoca/status.hpp"
#include "pydoca/task.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace pydoca {

class Dma;

/// Copies src's data, in list order, to dst's tailrooms; on success dst's data_len grows by the copied length. On
/// failure part of dst may have been written. Overlap of src and dst is undefined.
class alignas(64) DmaMemcpyTask final : public Task, private backend::CopyOperation {
 public:
  using Task::status;
  std::string explain(Status status) const override;
  Buf* src() const noexcept { return src_; }
  Buf* dst() const noexcept { return dst_; }
  /// Not while submitted (in_use).
  Status set_src(Buf* src) noexcept;
  Status set_dst(Buf* dst) noexcept;

 private:
  friend class Context;
  friend class Dma;
  friend class detail::TaskPool;

  DmaMemcpyTask(Dma& dma, detail::TaskPool& pool, std::size_t kind) noexcept;
  Dma& dma() const noexcept;
  detail::Limit check(detail::Violation* why) const noexcept override;
  Status post(bool flush) noexcept override;
  void finish(Status status) noexcept override;
  std::string explain_failed_copy() const;

  Buf* src_ = nullptr;
  Buf* dst_ = nullptr;
};

/// The copy engine (DOCA DMA: doca_dma). Starts at once.
class Dma final : public QueueContext {
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

  std::string_view kind() const noexcept override { return "dma"; }

 private:
  friend class DmaMemcpyTask;
  explicit Dma(std::shared_ptr<Device> device);

  backend::CopyQueue& copy_queue() const noexcept { return static_cast<backend::CopyQueue&>(*queue()); }
  Status begin() override;
  Task& task_of(backend::Operation& operation) const noexcept override;
  bool poll_one(bool& more) noexcept override;
};

}  // namespace pydoca

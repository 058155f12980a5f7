#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/context.hpp"
#include "pydoca/device.hpp"
#include "pydoca/status.hpp"
#include "pydoca/task.hpp"
#include "pydoca/task_traits.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#pragma GCC visibility push(default)

namespace pydoca {

/// The one task of the library.
inline constexpr TaskTraits dma_memcpy{.name = "memcpy", .operands = source_and_target};

/// Copies src's data, in list order, to dst's tailrooms, in list order (DOCA DMA Programming Guide:
/// doca_dma_task_memcpy). On success dst's data_len() grows by the copied length. After a failure part of dst's
/// tailroom may have been written. src and dst may be one list; other overlap of the copied bytes is undefined. See
/// Task for states, threads and ownership.
///
/// try_submit() answers invalid_value for a missing or empty src, a missing dst, a later element of a list, more than
/// max_buf_size() bytes, more than max_buf_list_len() elements of src or dst, memory that the device does not reach,
/// and a dst without room. The same faults, and memory that does not permit the access or was withdrawn, are failed
/// completions after submit(): io_failed. driver: the device was removed. shutdown: the context stopped before the
/// device began the task. Any failure takes the context to stopping.
class DmaMemcpyTask : public Task {
 public:
  Buf* src() const noexcept { return src_; }
  Buf* dst() const noexcept { return dst_; }
  // Set the operands of the next submission; in_use while submitted. The caller keeps its references to the bufs until
  // the completion.
  // Null is refused by try_submit(), and fails after submit().
  Status set_src(Buf* src) noexcept;
  Status set_dst(Buf* dst) noexcept;

 protected:
  using Task::Task;  // library::DmaMemcpyTask derives
  ~DmaMemcpyTask() override = default;

  Buf* src_ = nullptr;
  Buf* dst_ = nullptr;
};

/// The copy engine of a device (DOCA DMA Programming Guide: doca_dma). Starts at once. See Context for states, threads
/// and ownership.
class Dma : public Context {
 public:
  /// An idle context on device (doca_dma_create). Throws invalid_value for null, bad_state when the device is closed,
  /// not_supported when it has no DMA engine.
  static std::shared_ptr<Dma> create(std::shared_ptr<Device> device);

  static bool is_supported(const DeviceInfo& info) noexcept;
  // Capabilities of a device; throw not_supported when it has no DMA engine.
  static std::uint64_t max_buf_size(const DeviceInfo& info);      ///< bytes of src, per task
  static std::uint32_t max_buf_list_len(const DeviceInfo& info);  ///< elements of src, and of dst; 1: no lists
  static std::uint32_t max_num_tasks(const DeviceInfo& info);     ///< the limit of one context

  /// The callbacks, which may be the same function, and the number of tasks (doca_dma_task_memcpy_set_conf). Needed
  /// before start(), repeatable. Throws bad_state unless idle, invalid_value for a null callback and for num_tasks
  /// outside 1..max_num_tasks().
  void set_memcpy_conf(TaskCallback<DmaMemcpyTask> on_success, TaskCallback<DmaMemcpyTask> on_error,
                       std::uint32_t num_tasks);
  std::uint32_t num_tasks() const noexcept;  ///< what set_memcpy_conf() set; 0 before
  /// Whether tasks complete in the order in which they were submitted (doca_dma_set_ordered_completions). By default a
  /// small copy may overtake a large one. Throws bad_state unless idle.
  void set_ordered_completions(bool ordered);
  bool ordered_completions() const noexcept { return ordered_completions_; }

  /// Takes a task, which is not yet submitted (doca_dma_task_memcpy_alloc_init). src and dst may be null, for setters
  /// to set. bad_state unless running, no_memory when num_tasks are taken; task is then unchanged.
  Status memcpy(Buf* src, Buf* dst, std::uint64_t user_data, DmaMemcpyTask*& task) noexcept;

  std::string_view kind() const noexcept override { return "dma"; }

 protected:
  using Context::Context;  // detail::LibraryContext derives

 private:
  bool ordered_completions_ = false;
};

}  // namespace pydoca

#pragma GCC visibility pop

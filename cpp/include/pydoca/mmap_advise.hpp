#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/context.hpp"
#include "pydoca/device.hpp"
#include "pydoca/status.hpp"
#include "pydoca/task.hpp"
#include "pydoca/task_traits.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

#pragma GCC visibility push(default)

namespace pydoca {

inline constexpr Operand mmap_advise_operands[] = {{.name = "buf", .type = OperandType::source}};
inline constexpr TaskTraits mmap_advise_invalidate_cache{.name = "invalidate_cache", .operands = mmap_advise_operands};

/// Drops the data of buf from the caches of the DPU's processor, so that the next access reads memory
/// (doca_mmap_advise_task_invalidate_cache). What the caches have changed is written back first. The buf is a single
/// element, in memory of this process. On the simulator the processor is this machine's. See Task for states, threads
/// and ownership.
///
/// try_submit() answers invalid_value for a missing buf, a list or a later element of one, no data, more than
/// max_buf_size() bytes, memory that the device does not reach, and memory of another process. The same faults are
/// failed completions after submit(): io_failed. driver: the device was removed. shutdown: the context stopped before
/// the device began the task. Any failure takes the context to stopping.
class MmapAdviseInvalidateCacheTask : public Task {
 public:
  Buf* buf() const noexcept { return buf_; }
  /// Sets the buf for another submission; in_use while submitted. The caller keeps its reference to the buf until the
  /// completion.
  Status set_buf(Buf* buf) noexcept;

 protected:
  using Task::Task;  // library::InvalidateCacheTask derives
  ~MmapAdviseInvalidateCacheTask() override = default;

  Buf* buf_ = nullptr;
};

/// Advice about the memory of the DPU (doca_mmap_advise): today its caches may be invalidated. Starts at once. See
/// Context for states, threads and ownership.
class MmapAdvise : public Context {
 public:
  /// An idle context on device (doca_mmap_advise_create). Throws invalid_value for null, bad_state when the device is
  /// closed, not_supported, with the reason, unless it is a function of the DPU.
  static std::shared_ptr<MmapAdvise> create(std::shared_ptr<Device> device);

  static bool is_supported(const DeviceInfo& info) noexcept;
  // Capabilities of a device; throw not_supported when it does not invalidate its cache.
  static std::uint64_t max_buf_size(const DeviceInfo& info);   ///< bytes, per task
  static std::uint32_t max_num_tasks(const DeviceInfo& info);  ///< the limit of one context

  /// The callbacks, which may be the same function, and the number of tasks
  /// (doca_mmap_advise_task_invalidate_cache_set_conf). Needed before start(), repeatable. Throws not_permitted unless
  /// idle, as DOCA says, invalid_value for a null callback and for num_tasks outside 1..max_num_tasks().
  void set_invalidate_cache_conf(TaskCallback<MmapAdviseInvalidateCacheTask> on_success,
                                 TaskCallback<MmapAdviseInvalidateCacheTask> on_error, std::uint32_t num_tasks);
  std::uint32_t num_tasks() const noexcept;  ///< what set_invalidate_cache_conf() set; 0 before

  /// Takes a task, which is not yet submitted (doca_mmap_advise_task_invalidate_cache_alloc_init). buf may be null, for
  /// the setter to set. bad_state unless running, no_memory when num_tasks are taken; task is then unchanged.
  Status invalidate_cache(Buf* buf, std::uint64_t user_data, MmapAdviseInvalidateCacheTask*& task) noexcept;

  std::string_view kind() const noexcept override { return "mmap advise"; }

 protected:
  using Context::Context;  // detail::LibraryContext derives
};

}  // namespace pydoca

#pragma GCC visibility pop

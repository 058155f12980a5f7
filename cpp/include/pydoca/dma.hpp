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

namespace pydoca {

/// The one task of the library.
inline constexpr TaskTraits dma_memcpy{
    .name = "memcpy", .operands = {Operand::src, Operand::dst}, .sends = Operand::src, .fills = Operand::dst};

/// Copies src's data, in list order, to dst's tailrooms; on success dst's data_len grows by the copied length. On
/// failure part of dst may have been written. Overlap of src and dst is undefined.
///
/// try_submit() answers invalid_value for a missing or empty src, a missing dst, more than max_buf_size bytes, more
/// than max_buf_list_len elements, memory that the device does not reach, and a dst without room. The same faults, and
/// memory that does not permit the access, are failed completions after submit(): io_failed. driver: the device was
/// removed. Any failure takes the context to stopping.
class DmaMemcpyTask : public Task {
 public:
  Buf* src() const noexcept { return src_; }
  Buf* dst() const noexcept { return dst_; }
  // in_use while submitted. Null is refused by try_submit(), and fails after submit().
  Status set_src(Buf* src) noexcept;
  Status set_dst(Buf* dst) noexcept;

 protected:
  using Task::Task;  // library::DmaMemcpyTask derives
  ~DmaMemcpyTask() override = default;

 private:
  friend class Dma;

  Buf* src_ = nullptr;
  Buf* dst_ = nullptr;
};

/// The copy engine (DOCA DMA: doca_dma). Starts at once. Belongs to its progress engine's thread.
class Dma : public Context {
 public:
  /// Throws not_supported when the device has no DMA engine.
  static std::shared_ptr<Dma> create(std::shared_ptr<Device> device);

  static bool is_supported(const DeviceInfo& info) noexcept;
  // Capabilities of a device; throw not_supported when it has no DMA engine.
  static std::uint64_t max_buf_size(const DeviceInfo& info);      ///< bytes per task
  static std::uint32_t max_buf_list_len(const DeviceInfo& info);  ///< elements; 1: no lists
  static std::uint32_t max_num_tasks(const DeviceInfo& info);

  /// doca_dma_task_memcpy_set_conf; while idle (bad_state), repeatable. num_tasks in 1..max_num_tasks (invalid_value).
  void set_memcpy_conf(Task::Callback on_success, Task::Callback on_error, std::uint32_t num_tasks);

  /// A task, not yet submitted (doca_dma_task_memcpy_alloc_init). no_memory when num_tasks are out, bad_state unless
  /// running.
  [[nodiscard]] Status memcpy(Buf* src, Buf* dst, std::uint64_t user_data, DmaMemcpyTask*& task) noexcept;

  std::string_view kind() const noexcept override { return "dma"; }

 protected:
  using Context::Context;  // detail::LibraryContext derives
};

}  // namespace pydoca

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

inline constexpr TaskTraits compress_decompress_deflate{.name = "decompress_deflate", .operands = source_and_target};

/// Expands src's data, in list order: one DEFLATE stream (RFC 1951), without the header and trailer of zlib or gzip
/// (DOCA Compress Programming Guide: doca_compress_task_decompress_deflate). On success the plain data is appended to
/// dst's tailrooms, in list order: its data_len() grows by so many bytes. What follows the stream's last block in src
/// is ignored. The tailroom behind the plain data may have changed, and after a failure any part of it. See Task for
/// states, threads and ownership.
///
/// try_submit() answers invalid_value for a missing or empty src, a missing dst, a later element of a list, more than
/// max_decompress_deflate_buf_size() bytes of src, more than max_decompress_deflate_buf_list_len() elements of src or
/// dst, and memory that the device does not reach. The same faults, data that is not DEFLATE or is cut short, a dst
/// without room, and memory that does not permit the access or was withdrawn, are failed completions: io_failed.
/// driver: the device was removed. shutdown: the context stopped before the device began the task. Any failure takes
/// the context to stopping.
class CompressDecompressDeflateTask : public Task {
 public:
  Buf* src() const noexcept { return src_; }
  Buf* dst() const noexcept { return dst_; }
  // Set the operands of the next submission; in_use while submitted. The caller keeps its references to the bufs until
  // the completion.
  // Null is refused by try_submit(), and fails after submit().
  Status set_src(Buf* src) noexcept;
  Status set_dst(Buf* dst) noexcept;

  // Checksums of the plain data of the last submission that succeeded; 0 before
  // (doca_compress_task_decompress_deflate_get_crc_cs, _get_adler_cs).
  std::uint32_t crc_cs() const noexcept { return crc_; }      ///< CRC-32, as gzip has it (RFC 1952)
  std::uint32_t adler_cs() const noexcept { return adler_; }  ///< Adler-32, as zlib has it (RFC 1950)

 protected:
  using Task::Task;  // library::DecompressTask derives
  ~CompressDecompressDeflateTask() override = default;

  std::uint32_t crc_ = 0;
  std::uint32_t adler_ = 0;

  Buf* src_ = nullptr;
  Buf* dst_ = nullptr;
};

/// The compression engine of a device (DOCA Compress Programming Guide: doca_compress). Starts at once. See Context for
/// states, threads and ownership.
class Compress : public Context {
 public:
  /// An idle context on device (doca_compress_create). Throws invalid_value for null, bad_state when the device is
  /// closed, not_supported, with the reason, when it has no compression engine.
  static std::shared_ptr<Compress> create(std::shared_ptr<Device> device);

  /// Whether the device has the engine, for any of its tasks.
  static bool is_supported(const DeviceInfo& info) noexcept;
  /// doca_compress_cap_task_decompress_deflate_is_supported
  static bool is_decompress_deflate_supported(const DeviceInfo& info) noexcept;
  // Capabilities of a device; throw not_supported when it has no compression engine.
  static std::uint64_t max_decompress_deflate_buf_size(const DeviceInfo& info);  ///< bytes of src, per task
  /// Elements of src, and of dst; 1: no lists.
  static std::uint32_t max_decompress_deflate_buf_list_len(const DeviceInfo& info);
  static std::uint32_t max_num_tasks(const DeviceInfo& info);  ///< one context's limit for all kinds together

  /// The callbacks, which may be the same function, and the number of tasks
  /// (doca_compress_task_decompress_deflate_set_conf). Needed before start(), repeatable. Throws bad_state unless idle,
  /// invalid_value for a null callback and for num_tasks outside 1..max_num_tasks().
  void set_decompress_deflate_conf(TaskCallback<CompressDecompressDeflateTask> on_success,
                                   TaskCallback<CompressDecompressDeflateTask> on_error, std::uint32_t num_tasks);
  std::uint32_t num_tasks() const noexcept;  ///< what set_decompress_deflate_conf() set; 0 before

  /// Takes a task, which is not yet submitted (doca_compress_task_decompress_deflate_alloc_init). src and dst may be
  /// null, for setters to set. bad_state unless running, no_memory when num_tasks are taken; task is then unchanged.
  Status decompress_deflate(Buf* src, Buf* dst, std::uint64_t user_data, CompressDecompressDeflateTask*& task) noexcept;

  std::string_view kind() const noexcept override { return "compress"; }

 protected:
  using Context::Context;  // detail::LibraryContext derives
};

}  // namespace pydoca

#pragma GCC visibility pop

#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/context.hpp"
#include "pydoca/device.hpp"
#include "pydoca/sha_algorithm.hpp"
#include "pydoca/status.hpp"
#include "pydoca/task.hpp"
#include "pydoca/task_traits.hpp"

#include <cstdint>
#include <memory>
#include <string_view>

namespace pydoca {

inline constexpr TaskTraits sha_hash{.name = "hash",
                                     .operands = {Operand::src, Operand::dst, Operand::algorithm},
                                     .sends = Operand::src,
                                     .fills = Operand::dst,
                                     .optional = Operand::algorithm,
                                     .default_number = static_cast<std::uint64_t>(ShaAlgorithm::sha256)};

/// Hashes src's data, in list order, as one message, which may be empty (DOCA SHA Programming Guide:
/// doca_sha_task_hash). On success the digest is appended to dst: its data_len() grows by digest_size(algorithm) bytes.
/// See Task for states, threads and ownership.
///
/// try_submit() answers invalid_value for a missing src or dst, a later element of a list, more than max_src_buf_size()
/// bytes, a source of more than max_list_buf_num_elem() elements, a dst that is a list, memory that the device does not
/// reach, an algorithm that it does not compute, and a dst without room. The same faults, and memory that does not
/// permit the access or was withdrawn, are failed completions after submit(): io_failed. driver: the device was
/// removed. shutdown: the context stopped before the device began the task. Any failure takes the context to stopping.
class ShaHashTask : public Task {
 public:
  Buf* src() const noexcept { return src_; }
  Buf* dst() const noexcept { return dst_; }
  ShaAlgorithm algorithm() const noexcept { return algorithm_; }
  // For another submission; in_use while submitted. The caller keeps its references to the bufs until the completion.
  // Null is refused by try_submit(), and fails after submit().
  Status set_src(Buf* src) noexcept;
  Status set_dst(Buf* dst) noexcept;
  /// invalid_value for a number that is not an algorithm.
  Status set_algorithm(ShaAlgorithm algorithm) noexcept;

 protected:
  using Task::Task;  // library::ShaHashTask derives
  ~ShaHashTask() override = default;

 private:
  friend class Sha;

  Buf* src_ = nullptr;
  Buf* dst_ = nullptr;
  ShaAlgorithm algorithm_{};
};

/// The SHA engine of a device, a BlueField-2 (DOCA SHA Programming Guide: doca_sha). Starts at once. See Context for
/// states, threads and ownership.
class Sha : public Context {
 public:
  /// An idle context on device (doca_sha_create). Throws invalid_value for null, bad_state when the device is closed,
  /// not_supported, with the reason, when it has no SHA engine.
  static std::shared_ptr<Sha> create(std::shared_ptr<Device> device);

  static bool is_supported(const DeviceInfo& info) noexcept;
  /// False, too, for a number that is not an algorithm (doca_sha_cap_task_hash_get_supported).
  static bool is_algorithm_supported(const DeviceInfo& info, ShaAlgorithm algorithm) noexcept;
  // Capabilities of a device; throw not_supported when it has no SHA engine.
  static std::uint64_t max_src_buf_size(const DeviceInfo& info);       ///< bytes of src, per task
  static std::uint32_t max_list_buf_num_elem(const DeviceInfo& info);  ///< elements of a source; 1: no lists
  static std::uint32_t max_num_tasks(const DeviceInfo& info);          ///< of one context
  /// Bytes of tailroom that a digest needs. Throws not_supported, too, when the device does not compute it.
  static std::uint32_t min_dst_buf_size(const DeviceInfo& info, ShaAlgorithm algorithm);

  /// The callbacks, which may be the same function, and the number of tasks: a count, while doca_sha_task_hash_set_conf
  /// takes its logarithm. Needed before start(), repeatable. Throws bad_state unless idle, invalid_value for a null
  /// callback and for num_tasks outside 1..max_num_tasks().
  void set_hash_conf(Task::Callback on_success, Task::Callback on_error, std::uint32_t num_tasks);
  std::uint32_t num_tasks() const noexcept;  ///< as set_hash_conf() set it; 0 before

  /// Takes a task, which is not yet submitted (doca_sha_task_hash_alloc_init). src and dst may be null, for setters to
  /// set. invalid_value for a number that is not an algorithm, bad_state unless running, no_memory when num_tasks are
  /// taken; task is then unchanged.
  [[nodiscard]] Status hash(Buf* src, Buf* dst, ShaAlgorithm algorithm, std::uint64_t user_data,
                            ShaHashTask*& task) noexcept;

  std::string_view kind() const noexcept override { return "sha"; }

 protected:
  using Context::Context;  // detail::LibraryContext derives
};

}  // namespace pydoca

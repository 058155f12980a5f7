#pragma once

#include "pydoca/buf.hpp"
#include "pydoca/context.hpp"
#include "pydoca/device.hpp"
#include "pydoca/sha_algorithm.hpp"
#include "pydoca/status.hpp"
#include "pydoca/task.hpp"
#include "pydoca/task_traits.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#pragma GCC visibility push(default)

namespace pydoca {

inline constexpr Operand sha_operands[] = {{.name = "src", .type = OperandType::source},
                                           {.name = "dst", .type = OperandType::target},
                                           {.name = "algorithm",
                                            .type = OperandType::enumerator,
                                            .names = sha_algorithm_names,
                                            .may_be_left_out = true,
                                            .standing = static_cast<std::uint64_t>(ShaAlgorithm::sha256)}};
inline constexpr TaskTraits sha_hash{.name = "hash", .operands = sha_operands};
inline constexpr TaskTraits sha_partial_hash{.name = "partial_hash", .operands = sha_operands};

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
  // Set the operands of the next submission; in_use while submitted. The caller keeps its references to the bufs until
  // the completion.
  // Null is refused by try_submit(), and fails after submit().
  Status set_src(Buf* src) noexcept;
  Status set_dst(Buf* dst) noexcept;
  /// invalid_value for a number that is not an algorithm.
  Status set_algorithm(ShaAlgorithm algorithm) noexcept;

 protected:
  using Task::Task;  // ShaPartialHashTask derives
  ~ShaHashTask() override = default;

  bool begun_ = false;  ///< a piece of a message is done: dst and algorithm are its own

  Buf* src_ = nullptr;
  Buf* dst_ = nullptr;
  ShaAlgorithm algorithm_{};
};

/// Hashes a message piece by piece, with a submission for each (DOCA SHA Programming Guide:
/// doca_sha_task_partial_hash). As ShaHashTask, except for the following. src is the next piece; every piece but the
/// last must have a multiple of partial_hash_block_size() bytes, in all its elements together. dst gets the digest with
/// the last piece, which set_is_final_buf() marks before its submission. A message of one piece is a ShaHashTask's.
///
/// | the message | the caller may also | it ends |
/// |---|---|---|
/// | has not begun | set_dst(), set_algorithm() | by the completion of its first piece |
/// | has begun | set_is_final_buf(), reset() | by the completion of the piece that is marked, or by reset() |
/// | has ended: has_result() | reset(), which it needs before another submission | by reset() |
class ShaPartialHashTask : public ShaHashTask {
 public:
  /// Forgets the pieces: the next one begins another message (doca_sha_task_partial_hash_reset). in_use while
  /// submitted.
  Status reset() noexcept;
  /// The next piece is the last (doca_sha_task_partial_hash_set_is_final_buf). in_use while submitted, bad_state unless
  /// the message has begun, and when it has ended.
  Status set_is_final_buf() noexcept;
  bool is_final() const noexcept { return is_final_; }
  /// Whether dst has got the digest: the last piece is done, and reset() was not called since.
  bool has_result() const noexcept { return has_result_; }
  /// Whether pieces are done: dst and algorithm cannot be set.
  bool has_begun() const noexcept { return begun_; }

 protected:
  using ShaHashTask::ShaHashTask;  // library::ShaTask derives
  ~ShaPartialHashTask() override = default;

  bool is_final_ = false;
  bool has_result_ = false;
};

/// The SHA engine of a device, a BlueField-2 (DOCA SHA Programming Guide: doca_sha). Starts at once. See Context for
/// states, threads and ownership.
class Sha : public Context {
 public:
  /// An idle context on device (doca_sha_create). Throws invalid_value for null, bad_state when the device is closed,
  /// not_supported, with the reason, when it has no SHA engine.
  static std::shared_ptr<Sha> create(std::shared_ptr<Device> device);

  static bool is_supported(const DeviceInfo& info) noexcept;
  /// Whether tasks of both kinds can use it. It is also false for a number that is not an algorithm
  /// (doca_sha_cap_task_hash_get_supported, doca_sha_cap_task_partial_hash_get_supported).
  static bool is_algorithm_supported(const DeviceInfo& info, ShaAlgorithm algorithm) noexcept;
  // Capabilities of a device; throw not_supported when it has no SHA engine.
  static std::uint64_t max_src_buf_size(const DeviceInfo& info);       ///< bytes of src, per task
  static std::uint32_t max_list_buf_num_elem(const DeviceInfo& info);  ///< elements of a source; 1: no lists
  static std::uint32_t max_num_tasks(const DeviceInfo& info);          ///< the limit of one context
  /// Bytes of tailroom that a digest needs. Throws not_supported also when the device does not compute it.
  static std::uint32_t min_dst_buf_size(const DeviceInfo& info, ShaAlgorithm algorithm);
  /// Every piece of a message but the last is a multiple of this, in bytes. Throws as min_dst_buf_size().
  static std::uint32_t partial_hash_block_size(const DeviceInfo& info, ShaAlgorithm algorithm);

  /// The callbacks, which may be the same function, and the number of tasks: a count, while doca_sha_task_hash_set_conf
  /// takes its logarithm. One of the two confs is needed before start(); repeatable. Throws bad_state unless idle,
  /// invalid_value for a null callback and for num_tasks outside 1..max_num_tasks().
  void set_hash_conf(TaskCallback<ShaHashTask> on_success, TaskCallback<ShaHashTask> on_error, std::uint32_t num_tasks);
  std::uint32_t num_tasks() const noexcept;  ///< what set_hash_conf() set; 0 before
  /// The same for tasks that hash piece by piece (doca_sha_task_partial_hash_set_conf).
  void set_partial_hash_conf(TaskCallback<ShaPartialHashTask> on_success, TaskCallback<ShaPartialHashTask> on_error,
                             std::uint32_t num_tasks);
  std::uint32_t num_partial_hash_tasks() const noexcept;

  /// Takes a task, which is not yet submitted (doca_sha_task_hash_alloc_init). src and dst may be null, for setters to
  /// set. invalid_value for a number that is not an algorithm, bad_state unless running, no_memory when num_tasks are
  /// taken; task is then unchanged.
  Status hash(Buf* src, Buf* dst, ShaAlgorithm algorithm, std::uint64_t user_data, ShaHashTask*& task) noexcept;

  /// The same for the first piece of a message (doca_sha_task_partial_hash_alloc_init).
  Status partial_hash(Buf* src, Buf* dst, ShaAlgorithm algorithm, std::uint64_t user_data,
                      ShaPartialHashTask*& task) noexcept;

  std::string_view kind() const noexcept override { return "sha"; }

 protected:
  using Context::Context;  // detail::LibraryContext derives

 private:
  template <class TaskClass>
  Status take_task(std::size_t kind, Buf* src, Buf* dst, ShaAlgorithm algorithm, std::uint64_t user_data,
                   TaskClass*& task) noexcept;
};

}  // namespace pydoca

#pragma GCC visibility pop

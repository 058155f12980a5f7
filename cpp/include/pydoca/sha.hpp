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

/// Hashes src's data, in list order, as one message, which may be empty. On success the digest is appended to dst: its
/// data_len grows by digest_size(algorithm).
///
/// try_submit() answers invalid_value for a missing src or dst, more than max_src_buf_size bytes, a source of more than
/// max_list_buf_num_elem elements, a dst that is a list, memory that the device does not reach, an algorithm that it
/// does not compute, and a dst without room. The same faults, and memory that does not permit the access, are failed
/// completions after submit(): io_failed. driver: the device was removed. Any failure takes the context to stopping.
class ShaHashTask : public Task {
 public:
  Buf* src() const noexcept { return src_; }
  Buf* dst() const noexcept { return dst_; }
  ShaAlgorithm algorithm() const noexcept { return algorithm_; }
  // in_use while submitted. Null is refused by try_submit(), and fails after submit().
  Status set_src(Buf* src) noexcept;
  Status set_dst(Buf* dst) noexcept;
  /// invalid_value for what is not an algorithm.
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

/// The SHA engine (DOCA SHA: doca_sha), of BlueField-2. Starts at once. Belongs to its progress engine's thread.
class Sha : public Context {
 public:
  /// Throws not_supported, with the reason, when the device has no SHA engine.
  static std::shared_ptr<Sha> create(std::shared_ptr<Device> device);

  static bool is_supported(const DeviceInfo& info) noexcept;
  /// doca_sha_cap_task_hash_get_supported.
  static bool is_algorithm_supported(const DeviceInfo& info, ShaAlgorithm algorithm) noexcept;
  // Capabilities of a device; throw not_supported when it has no SHA engine.
  static std::uint64_t max_src_buf_size(const DeviceInfo& info);       ///< bytes per task
  static std::uint32_t max_list_buf_num_elem(const DeviceInfo& info);  ///< elements of a source; 1: no lists
  static std::uint32_t max_num_tasks(const DeviceInfo& info);
  /// Bytes of tailroom that a digest needs. Throws not_supported, too, when the device does not compute it.
  static std::uint32_t min_dst_buf_size(const DeviceInfo& info, ShaAlgorithm algorithm);

  /// doca_sha_task_hash_set_conf, with a count and not its logarithm; while idle (bad_state), repeatable. num_tasks in
  /// 1..max_num_tasks (invalid_value).
  void set_hash_conf(Task::Callback on_success, Task::Callback on_error, std::uint32_t num_tasks);

  /// A task, not yet submitted (doca_sha_task_hash_alloc_init). no_memory when num_tasks are out, bad_state unless
  /// running, invalid_value for what is not an algorithm.
  [[nodiscard]] Status hash(Buf* src, Buf* dst, ShaAlgorithm algorithm, std::uint64_t user_data,
                            ShaHashTask*& task) noexcept;

  std::string_view kind() const noexcept override { return "sha"; }

 protected:
  using Context::Context;  // detail::LibraryContext derives
};

}  // namespace pydoca

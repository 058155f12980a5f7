#include "library/sha.hpp"

#include "library/capabilities.hpp"
#include "library/task_functions.hpp"

using namespace pydoca;
using capi::Call;

namespace {

ShaPartialHashTask& partial(doca_sha_task_partial_hash& task) noexcept {
  return reinterpret_cast<ShaPartialHashTask&>(task);
}
const ShaPartialHashTask& partial(const doca_sha_task_partial_hash& task) noexcept {
  return reinterpret_cast<const ShaPartialHashTask&>(task);
}

bool supports(const DeviceInfo& info, const doca_sha_algorithm& algorithm) noexcept {
  return Sha::is_algorithm_supported(info, capi::enumerator<ShaAlgorithm>(algorithm));
}

}  // namespace

doca_error_t doca_sha_create(doca_dev* dev, doca_sha** sha) { return capi::create(Call(), dev, sha, Sha::create); }

doca_error_t doca_sha_destroy(doca_sha* sha) { return capi::destroy(Call(), sha); }

doca_ctx* doca_sha_as_ctx(doca_sha* sha) { return capi::as_ctx(Call(), sha); }

doca_error_t doca_sha_cap_task_hash_get_supported(const doca_devinfo* devinfo, doca_sha_algorithm algorithm) {
  return capi::answer_support(Call(), devinfo, [&](const DeviceInfo& info) { return supports(info, algorithm); });
}

doca_error_t doca_sha_cap_task_partial_hash_get_supported(const doca_devinfo* devinfo, doca_sha_algorithm algorithm) {
  return capi::answer_support(Call(), devinfo, [&](const DeviceInfo& info) { return supports(info, algorithm); });
}

doca_error_t doca_sha_cap_get_max_list_buf_num_elem(const doca_devinfo* devinfo, std::uint32_t* max_list_buf_num_elem) {
  return capi::answer_limit(Call(), devinfo, max_list_buf_num_elem, Sha::max_list_buf_num_elem);
}

doca_error_t doca_sha_cap_get_max_src_buf_size(const doca_devinfo* devinfo, std::uint64_t* max_src_buf_size) {
  return capi::answer_limit(Call(), devinfo, max_src_buf_size, Sha::max_src_buf_size);
}

doca_error_t doca_sha_cap_get_min_dst_buf_size(const doca_devinfo* devinfo, doca_sha_algorithm algorithm,
                                               std::uint32_t* min_dst_buf_size) {
  return capi::answer_limit(Call(), devinfo, min_dst_buf_size, [&](const DeviceInfo& info) {
    return Sha::min_dst_buf_size(info, capi::enumerator<ShaAlgorithm>(algorithm));
  });
}

doca_error_t doca_sha_cap_get_partial_hash_block_size(const doca_devinfo* devinfo, doca_sha_algorithm algorithm,
                                                      std::uint32_t* partial_hash_block_size) {
  return capi::answer_limit(Call(), devinfo, partial_hash_block_size, [&](const DeviceInfo& info) {
    return Sha::partial_hash_block_size(info, capi::enumerator<ShaAlgorithm>(algorithm));
  });
}

doca_error_t doca_sha_cap_get_max_num_tasks(doca_sha* sha, std::uint32_t* max_num_tasks) {
  return capi::answer_own_limit(Call(), sha, max_num_tasks, Sha::max_num_tasks);
}

doca_error_t doca_sha_task_partial_hash_reset(doca_sha_task_partial_hash* task) {
  return capi::answer_change(task != nullptr ? partial(*task).reset() : Status::invalid_value);
}

doca_error_t doca_sha_task_partial_hash_set_is_final_buf(doca_sha_task_partial_hash* task) {
  return capi::answer_change(task != nullptr ? partial(*task).set_is_final_buf() : Status::invalid_value);
}

std::uint8_t doca_sha_task_partial_hash_get_is_final(const doca_sha_task_partial_hash* task) {
  return task != nullptr && partial(*task).is_final() ? 1 : 0;
}

std::uint8_t doca_sha_task_partial_hash_get_has_result(const doca_sha_task_partial_hash* task) {
  return task != nullptr && partial(*task).has_result() ? 1 : 0;
}

#include "library/dma.hpp"

#include "library/capabilities.hpp"

using namespace pydoca;
using capi::Call;

doca_error_t doca_dma_create(doca_dev* dev, doca_dma** dma) { return capi::create(Call(), dev, dma, Dma::create); }

doca_error_t doca_dma_destroy(doca_dma* dma) { return capi::destroy(Call(), dma); }

doca_ctx* doca_dma_as_ctx(doca_dma* dma) { return capi::as_ctx(Call(), dma); }

doca_error_t doca_dma_cap_task_memcpy_is_supported(const doca_devinfo* devinfo) {
  return capi::answer_support(Call(), devinfo, Dma::is_supported);
}

doca_error_t doca_dma_cap_get_max_num_tasks(doca_dma* dma, std::uint32_t* max_num_tasks) {
  return capi::answer_own_limit(Call(), dma, max_num_tasks, Dma::max_num_tasks);
}

doca_error_t doca_dma_cap_task_memcpy_get_max_buf_list_len(const doca_devinfo* devinfo,
                                                           std::uint32_t* max_buf_list_len) {
  return capi::answer_limit(Call(), devinfo, max_buf_list_len, Dma::max_buf_list_len);
}

doca_error_t doca_dma_cap_task_memcpy_get_max_buf_size(const doca_devinfo* devinfo, std::uint64_t* buf_size) {
  return capi::answer_limit(Call(), devinfo, buf_size, Dma::max_buf_size);
}

doca_error_t doca_dma_set_ordered_completions(doca_dma* dma, std::uint8_t ordered) {
  const Call call;
  if (!call.has(dma)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.run([&] { dma->engine().set_ordered_completions(ordered != 0); });
}

doca_error_t doca_dma_get_gpu_handle(doca_dma* dma, doca_gpu_dma** gpu_dma) {
  const Call call;
  if (!call.has(dma, gpu_dma)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.refuse(Status::not_supported, "tasks are submitted on the CPU, and there is no GPU");
}

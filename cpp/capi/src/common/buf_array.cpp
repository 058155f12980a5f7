#include "base/call.hpp"

#include <doca_buf_array.h>

using pydoca::Status;
using pydoca::capi::Call;

namespace {

template <class... Pointers>
doca_error_t refuse(const Call& call, const Pointers*... pointers) noexcept {
  if (!call.has(static_cast<const void*>(pointers)...)) {
    return DOCA_ERROR_INVALID_VALUE;
  }
  return call.refuse(Status::not_supported, "kernels of a GPU or a DPA cannot be run by programs in C");
}

}  // namespace

doca_error_t doca_buf_arr_create(std::size_t /*num_elem*/, doca_buf_arr** buf_arr) { return refuse(Call(), buf_arr); }

doca_error_t doca_buf_arr_destroy(doca_buf_arr* buf_arr) { return refuse(Call(), buf_arr); }

doca_error_t doca_buf_arr_set_target_gpu(doca_buf_arr* buf_arr, doca_gpu* gpu_handler) {
  return refuse(Call(), buf_arr, gpu_handler);
}

doca_error_t doca_buf_arr_set_target_dpa(doca_buf_arr* buf_arr, doca_dpa* dpa_handler) {
  return refuse(Call(), buf_arr, dpa_handler);
}

doca_error_t doca_buf_arr_set_params(doca_buf_arr* buf_arr, doca_mmap* mmap, std::size_t /*elem_size*/,
                                     std::uint64_t /*start_offset*/) {
  return refuse(Call(), buf_arr, mmap);
}

doca_error_t doca_buf_arr_start(doca_buf_arr* buf_arr) { return refuse(Call(), buf_arr); }

doca_error_t doca_buf_arr_stop(doca_buf_arr* buf_arr) { return refuse(Call(), buf_arr); }

doca_error_t doca_buf_arr_get_gpu_handle(const doca_buf_arr* buf_arr, doca_gpu_buf_arr** gpu_buf_arr) {
  return refuse(Call(), buf_arr, gpu_buf_arr);
}

doca_error_t doca_buf_arr_get_dpa_handle(const doca_buf_arr* buf_arr, doca_dpa_dev_buf_arr_t* dpa_buf_arr) {
  return refuse(Call(), buf_arr, dpa_buf_arr);
}

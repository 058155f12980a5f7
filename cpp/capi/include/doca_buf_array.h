/// Arrays of bufs, for kernels of a GPU or a DPA. Every function answers NOT_SUPPORTED: no kernel is run for programs
/// in C.
#ifndef DOCA_BUF_ARRAY_H_
#define DOCA_BUF_ARRAY_H_

#include <doca_build_config.h>
#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf_arr;
struct doca_dpa;
struct doca_gpu;
struct doca_gpu_buf_arr;
struct doca_mmap;

typedef uint64_t doca_dpa_dev_buf_arr_t;  ///< an array as kernels of a DPA see it

DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_create(size_t num_elem, struct doca_buf_arr** buf_arr);
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_destroy(struct doca_buf_arr* buf_arr);
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_set_target_gpu(struct doca_buf_arr* buf_arr, struct doca_gpu* gpu_handler);
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_set_target_dpa(struct doca_buf_arr* buf_arr, struct doca_dpa* dpa_handler);
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_set_params(struct doca_buf_arr* buf_arr, struct doca_mmap* mmap,
                                                       size_t elem_size, uint64_t start_offset);
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_start(struct doca_buf_arr* buf_arr);
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_stop(struct doca_buf_arr* buf_arr);
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_get_gpu_handle(const struct doca_buf_arr* buf_arr,
                                                           struct doca_gpu_buf_arr** gpu_buf_arr);
DOCA_EXPERIMENTAL doca_error_t doca_buf_arr_get_dpa_handle(const struct doca_buf_arr* buf_arr,
                                                           doca_dpa_dev_buf_arr_t* dpa_buf_arr);

#ifdef __cplusplus
}
#endif

#endif  // DOCA_BUF_ARRAY_H_

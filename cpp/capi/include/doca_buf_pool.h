/// Pools: bufs of equal size in one memory map.
///
/// Besides what is said at each function: INVALID_VALUE for NULL, for an object that was destroyed, and for one of
/// another kind; setters answer BAD_STATE while the pool is started. One thread at a time, together with its bufs.
#ifndef DOCA_BUF_POOL_H_
#define DOCA_BUF_POOL_H_

#include <doca_build_config.h>
#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_buf;
struct doca_buf_pool;
struct doca_mmap;

/// A stopped pool of num_elements bufs of element_size bytes. INVALID_VALUE for 0 and for a map without a range.
DOCA_STABLE doca_error_t doca_buf_pool_create(size_t num_elements, size_t element_size, const struct doca_mmap* mmap,
                                              struct doca_buf_pool** buf_pool);
/// Stops it, too. IN_USE while a buf of it is out.
DOCA_STABLE doca_error_t doca_buf_pool_destroy(struct doca_buf_pool* buf_pool);
/// BAD_STATE unless the map is started, INITIALIZATION when the map has too few bytes for all elements.
DOCA_STABLE doca_error_t doca_buf_pool_start(struct doca_buf_pool* buf_pool);
/// IN_USE while a buf of it is out.
DOCA_STABLE doca_error_t doca_buf_pool_stop(struct doca_buf_pool* buf_pool);
/// Any free buf, without data. BAD_STATE unless started, EMPTY when all are out.
DOCA_STABLE doca_error_t doca_buf_pool_buf_alloc(struct doca_buf_pool* buf_pool, struct doca_buf** buf);

DOCA_STABLE doca_error_t doca_buf_pool_set_user_data(struct doca_buf_pool* buf_pool, union doca_data user_data);
DOCA_STABLE doca_error_t doca_buf_pool_get_user_data(const struct doca_buf_pool* buf_pool, union doca_data* user_data);
/// A power of 2, of which the addresses of all elements are multiples: 1 by default.
DOCA_STABLE doca_error_t doca_buf_pool_set_element_alignment(struct doca_buf_pool* buf_pool, size_t element_alignment);
DOCA_STABLE doca_error_t doca_buf_pool_get_element_alignment(const struct doca_buf_pool* buf_pool,
                                                             size_t* element_alignment);
DOCA_STABLE doca_error_t doca_buf_pool_get_num_elements(const struct doca_buf_pool* buf_pool,
                                                        uint32_t* num_of_elements);
DOCA_STABLE doca_error_t doca_buf_pool_get_num_free_elements(const struct doca_buf_pool* buf_pool,
                                                             uint32_t* num_of_free_elements);

#ifdef __cplusplus
}
#endif

#endif  // DOCA_BUF_POOL_H_

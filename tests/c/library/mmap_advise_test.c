#include "rig/case.h"

#include <doca_mmap_advise.h>

typedef struct doca_mmap_advise_task_invalidate_cache invalidation;

static void invalidated(invalidation* task, union doca_data task_data, union doca_data ctx_data) {
  (void)task;
  (void)task_data;
  (void)ctx_data;
}

CASE(mmap_advise, null_is_an_invalid_value) {
  struct doca_mmap_advise* advise = NULL;
  invalidation* task = NULL;
  CHECK_INVALID(doca_mmap_advise_create(NULL, &advise));
  CHECK_INVALID(doca_mmap_advise_destroy(NULL));
  CHECK_INVALID(doca_mmap_advise_cap_task_cache_invalidate_is_supported(NULL));
  CHECK_INVALID(doca_mmap_advise_task_invalidate_cache_set_conf(NULL, invalidated, invalidated, 1));
  CHECK_INVALID(doca_mmap_advise_task_invalidate_cache_alloc_init(NULL, NULL, (union doca_data){.u64 = 0}, &task));
  CHECK(doca_mmap_advise_as_ctx(NULL) == NULL);
  CHECK(doca_mmap_advise_task_invalidate_cache_as_doca_task(NULL) == NULL);
  CHECK(doca_mmap_advise_task_invalidate_cache_get_buf(NULL) == NULL);
}

#include "rig/case.h"
#include "rig/device.h"
#include "rig/stage.h"

#include <doca_mmap_advise.h>
#include <string.h>

typedef struct doca_mmap_advise_task_invalidate_cache invalidation;

struct seen {
  int completions;
  doca_error_t status;
  const struct doca_buf* buf;
};

static void invalidated(invalidation* task, union doca_data task_data, union doca_data ctx_data) {
  struct seen* seen = ctx_data.ptr;
  (void)task_data;
  struct doca_task* base = doca_mmap_advise_task_invalidate_cache_as_doca_task(task);
  doca_task_free(base);
  ++seen->completions;
  seen->status = doca_task_get_status(base);
  seen->buf = doca_mmap_advise_task_invalidate_cache_get_buf(task);
}

static struct doca_mmap_advise* make_advise(struct stage* stage, struct seen* seen) {
  memset(seen, 0, sizeof *seen);
  stage_open(stage, open_first_device(), 4096);
  struct doca_mmap_advise* advise = NULL;
  CHECK_OK(doca_mmap_advise_create(stage->dev, &advise));
  CHECK_OK(doca_mmap_advise_task_invalidate_cache_set_conf(advise, invalidated, invalidated, 1));
  CHECK_OK(doca_ctx_set_user_data(doca_mmap_advise_as_ctx(advise), (union doca_data){.ptr = seen}));
  stage_start(stage, doca_mmap_advise_as_ctx(advise));
  return advise;
}

static void end_advise(struct stage* stage, struct doca_mmap_advise* advise) {
  stage_stop(stage, doca_mmap_advise_as_ctx(advise));
  CHECK_OK(doca_mmap_advise_destroy(advise));
  CHECK_INVALID(doca_mmap_advise_destroy(advise));
  stage_close(stage);
}

CASE(mmap_advise, a_buf_is_dropped_from_the_caches) {
  struct stage stage;
  struct seen seen;
  struct doca_mmap_advise* advise = make_advise(&stage, &seen);
  uint64_t limit = 0;
  const struct doca_devinfo* info = doca_dev_as_devinfo(stage.dev);
  CHECK_OK(doca_mmap_advise_cap_task_cache_invalidate_is_supported(info));
  CHECK_OK(doca_mmap_advise_task_cache_invalidate_get_max_buf_size(info, &limit));
  CHECK(limit > 0);
  struct doca_buf* buf = stage_data(&stage, 0, 4096);
  invalidation* task = NULL;
  const union doca_data none = {.u64 = 0};
  CHECK_OK(doca_mmap_advise_task_invalidate_cache_alloc_init(advise, buf, none, &task));
  invalidation* other = NULL;
  CHECK_STATUS(doca_mmap_advise_task_invalidate_cache_alloc_init(advise, buf, none, &other), DOCA_ERROR_NO_MEMORY);
  doca_mmap_advise_task_invalidate_cache_set_buf(task, buf);
  CHECK_OK(doca_task_try_submit(doca_mmap_advise_task_invalidate_cache_as_doca_task(task)));
  stage_progress_until(&stage, &seen.completions, 1);
  CHECK(seen.status == DOCA_SUCCESS && seen.buf == buf);
  give_back(buf);
  end_advise(&stage, advise);
}

CASE(mmap_advise, configuration_is_not_permitted_unless_idle) {
  struct stage stage;
  struct seen seen;
  struct doca_mmap_advise* advise = make_advise(&stage, &seen);
  CHECK_STATUS(doca_mmap_advise_task_invalidate_cache_set_conf(advise, invalidated, invalidated, 1),
               DOCA_ERROR_NOT_PERMITTED);
  end_advise(&stage, advise);
}

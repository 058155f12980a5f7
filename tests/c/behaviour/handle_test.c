// Wrong pointers: NULL, objects that were destroyed, objects of another kind. Where the reference says that the
// behaviour is undefined, the call still answers, as long as the object can be recognised.

#include "rig/dma_rig.h"

#include <doca_buf_pool.h>

enum { size = 4096 };

static const union doca_data no_data = {.u64 = 0};

CASE(handle, null_engine_is_invalid) {
  size_t count = 0;
  doca_notification_handle_t handle = 0;
  CHECK_STATUS(doca_pe_create(NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_pe_destroy(NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_EQUAL(doca_pe_progress(NULL), 0);
  CHECK_STATUS(doca_pe_get_num_inflight_tasks(NULL, &count), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_pe_get_notification_handle(NULL, &handle), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_pe_request_notification(NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_pe_clear_notification(NULL, 0), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_pe_connect_ctx(NULL, NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_pe_set_event_mode(NULL, DOCA_PE_EVENT_PROGRESS_ALL), DOCA_ERROR_INVALID_VALUE);
}

CASE(handle, null_context_is_invalid) {
  union doca_data data = no_data;
  size_t count = 0;
  enum doca_ctx_states state = DOCA_CTX_STATE_IDLE;
  CHECK_STATUS(doca_ctx_start(NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_ctx_stop(NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_ctx_get_state(NULL, &state), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_ctx_get_user_data(NULL, &data), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_ctx_set_user_data(NULL, data), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_ctx_get_num_inflight_tasks(NULL, &count), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_ctx_set_state_changed_cb(NULL, NULL), DOCA_ERROR_INVALID_VALUE);
  doca_ctx_flush_tasks(NULL);
}

CASE(handle, null_map_is_invalid) {
  struct doca_mmap* map = NULL;
  uint32_t number = 0;
  const void* blob = NULL;
  size_t length = 0;
  CHECK_STATUS(doca_mmap_create(NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_mmap_destroy(NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_mmap_start(NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_mmap_stop(NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_mmap_get_num_bufs(NULL, &number), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_mmap_export_pci(NULL, NULL, &blob, &length), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_mmap_create(&map));
  CHECK_STATUS(doca_mmap_add_dev(map, NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_mmap_get_num_bufs(map, NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_mmap_destroy(map));
}

CASE(handle, null_buf_does_not_crash) {
  struct stage stage;
  struct doca_buf* buf = NULL;
  stage_open_for_dma(&stage, size);
  CHECK(doca_buf_inc_refcount(NULL, NULL) != DOCA_SUCCESS);
  CHECK(doca_buf_dec_refcount(NULL, NULL) != DOCA_SUCCESS);
  CHECK(doca_buf_reset_data_len(NULL) != DOCA_SUCCESS);
  CHECK_STATUS(doca_buf_inventory_buf_get_by_data(NULL, stage.mmap, stage.memory, 8, &buf), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_buf_inventory_buf_get_by_data(stage.inventory, NULL, stage.memory, 8, &buf),
               DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_buf_inventory_buf_get_by_data(stage.inventory, stage.mmap, stage.memory, 8, NULL),
               DOCA_ERROR_INVALID_VALUE);
  stage_close(&stage);
}

CASE(handle, null_task_does_not_crash) {
  CHECK(doca_task_submit(NULL) != DOCA_SUCCESS);
  CHECK(doca_task_try_submit(NULL) != DOCA_SUCCESS);
  doca_task_free(NULL);
}

CASE(handle, null_dma_is_invalid) {
  struct doca_dma* dma = NULL;
  struct doca_dma_task_memcpy* task = NULL;
  uint32_t number = 0;
  CHECK_STATUS(doca_dma_create(NULL, &dma), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_dma_destroy(NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_dma_cap_task_memcpy_is_supported(NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_dma_cap_get_max_num_tasks(NULL, &number), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_dma_task_memcpy_set_conf(NULL, count_success, count_failure, 1), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_dma_task_memcpy_alloc_init(NULL, NULL, NULL, no_data, &task), DOCA_ERROR_INVALID_VALUE);
  CHECK(doca_dma_as_ctx(NULL) == NULL);
}

CASE(handle, destroyed_twice_is_invalid) {
  struct dma_rig rig;
  struct doca_mmap* map = NULL;
  struct doca_pe* pe = NULL;
  struct doca_buf_inventory* inventory = NULL;
  CHECK_OK(doca_mmap_create(&map));
  CHECK_OK(doca_mmap_destroy(map));
  CHECK_STATUS(doca_mmap_destroy(map), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_pe_create(&pe));
  CHECK_OK(doca_pe_destroy(pe));
  CHECK_STATUS(doca_pe_destroy(pe), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_buf_inventory_create(1, &inventory));
  CHECK_OK(doca_buf_inventory_destroy(inventory));
  CHECK_STATUS(doca_buf_inventory_destroy(inventory), DOCA_ERROR_INVALID_VALUE);
  dma_rig_configure(&rig, size, count_success, count_failure, 1);
  struct doca_dma* dma = NULL;
  CHECK_OK(doca_dma_create(rig.stage.dev, &dma));
  CHECK_OK(doca_dma_destroy(dma));
  CHECK(doca_dma_destroy(dma) != DOCA_SUCCESS);
  dma_rig_tear_down(&rig);
}

CASE(handle, used_after_destroy_is_invalid) {
  struct stage stage;
  struct doca_dma* dma = NULL;
  enum doca_ctx_states state = DOCA_CTX_STATE_IDLE;
  struct doca_dma_task_memcpy* task = NULL;
  stage_open_for_dma(&stage, size);
  CHECK_OK(doca_dma_create(stage.dev, &dma));
  struct doca_ctx* ctx = doca_dma_as_ctx(dma);
  CHECK_OK(doca_dma_destroy(dma));
  CHECK_STATUS(doca_ctx_start(ctx), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_ctx_stop(ctx), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_ctx_get_state(ctx, &state), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_pe_connect_ctx(stage.pe, ctx), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_dma_task_memcpy_set_conf(dma, count_success, count_failure, 1), DOCA_ERROR_INVALID_VALUE);
  CHECK(doca_dma_task_memcpy_alloc_init(dma, NULL, NULL, no_data, &task) != DOCA_SUCCESS);
  stage_close(&stage);
}

CASE(handle, of_another_kind_is_invalid) {
  struct stage stage;
  stage_open_for_dma(&stage, size);
  CHECK_STATUS(doca_mmap_start((struct doca_mmap*)(void*)stage.pe), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_pe_destroy((struct doca_pe*)(void*)stage.mmap), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_ctx_start((struct doca_ctx*)(void*)stage.mmap), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_dev_close((struct doca_dev*)(void*)stage.inventory), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_buf_inventory_stop((struct doca_buf_inventory*)(void*)stage.dev), DOCA_ERROR_INVALID_VALUE);
  stage_close(&stage);
}

// The memory of a destroyed object serves again: an old pointer may then mean the new object, but not at once.
CASE(handle, of_many_objects_are_recognised) {
  enum { count = 1000 };
  static struct doca_mmap* maps[count];
  for (int i = 0; i < count; i++) CHECK_OK(doca_mmap_create(&maps[i]));
  for (int i = 0; i < count; i++) CHECK_OK(doca_mmap_destroy(maps[i]));
  struct doca_mmap* later = NULL;
  CHECK_OK(doca_mmap_create(&later));
  for (int i = 0; i < count; i++) {
    if (maps[i] != later) CHECK_STATUS(doca_mmap_stop(maps[i]), DOCA_ERROR_INVALID_VALUE);
  }
  CHECK_OK(doca_mmap_destroy(later));
}

static void destroy_in_callback(struct doca_dma_task_memcpy* task, union doca_data task_user_data,
                                union doca_data ctx_user_data) {
  struct dma_rig* rig = ctx_user_data.ptr;
  (void)task_user_data;
  doca_task_free(as_task(task));
  rig->answer = doca_dma_destroy(rig->dma);
  CHECK(doca_pe_destroy(rig->stage.pe) != DOCA_SUCCESS);
  CHECK_EQUAL(doca_pe_progress(rig->stage.pe), 0);
  rig->num_succeeded++;
}

// The reference forbids these calls in callbacks.
CASE(handle, is_not_destroyed_inside_of_its_callback) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, destroy_in_callback, count_failure, 1);
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  progress_until_completed(&rig, 1);
  CHECK_STATUS(rig.answer, DOCA_ERROR_IN_USE);
  dma_rig_tear_down(&rig);
}

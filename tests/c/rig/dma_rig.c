#include "rig/dma_rig.h"

#include <string.h>

void stage_open_for_dma(struct stage* stage, size_t size) {
  stage_open(stage, open_first(doca_dma_cap_task_memcpy_is_supported), size);
}

void count_success(struct doca_dma_task_memcpy* task, union doca_data task_user_data, union doca_data ctx_user_data) {
  struct dma_rig* rig = ctx_user_data.ptr;
  (void)task_user_data;
  rig->num_succeeded++;
  doca_task_free(as_task(task));
}

void count_failure(struct doca_dma_task_memcpy* task, union doca_data task_user_data, union doca_data ctx_user_data) {
  struct dma_rig* rig = ctx_user_data.ptr;
  (void)task_user_data;
  if (rig->num_failed++ == 0) rig->first_failure = doca_task_get_status(as_task(task));
  doca_task_free(as_task(task));
}

static void note_state(const union doca_data user_data, struct doca_ctx* ctx, enum doca_ctx_states previous,
                       enum doca_ctx_states next) {
  struct dma_rig* rig = user_data.ptr;
  (void)previous;
  CHECK(ctx == rig->ctx);
  CHECK_EQUAL(state_of(ctx), next);
  if (rig->num_states < 16) rig->states[rig->num_states++] = next;
}

void dma_rig_configure(struct dma_rig* rig, size_t size, doca_dma_task_memcpy_completion_cb_t on_success,
                       doca_dma_task_memcpy_completion_cb_t on_error, uint32_t num_tasks) {
  memset(rig, 0, sizeof *rig);
  stage_open_for_dma(&rig->stage, size);
  CHECK_OK(doca_dma_create(rig->stage.dev, &rig->dma));
  rig->ctx = doca_dma_as_ctx(rig->dma);
  CHECK_OK(doca_dma_task_memcpy_set_conf(rig->dma, on_success, on_error, num_tasks));
  CHECK_OK(doca_ctx_set_user_data(rig->ctx, (union doca_data){.ptr = rig}));
  CHECK_OK(doca_ctx_set_state_changed_cb(rig->ctx, note_state));
  CHECK_OK(doca_pe_connect_ctx(rig->stage.pe, rig->ctx));
  rig->src = stage_data(&rig->stage, 0, size / 2);
  rig->dst = stage_room(&rig->stage, size / 2, size / 2);
}

void dma_rig_set_up(struct dma_rig* rig, size_t size, doca_dma_task_memcpy_completion_cb_t on_success,
                    doca_dma_task_memcpy_completion_cb_t on_error, uint32_t num_tasks) {
  dma_rig_configure(rig, size, on_success, on_error, num_tasks);
  CHECK_OK(doca_ctx_start(rig->ctx));
}

void dma_rig_tear_down(struct dma_rig* rig) {
  stage_stop(&rig->stage, rig->ctx);
  CHECK_OK(doca_dma_destroy(rig->dma));
  CHECK_OK(doca_buf_dec_refcount(rig->src, NULL));
  CHECK_OK(doca_buf_dec_refcount(rig->dst, NULL));
  stage_close(&rig->stage);
}

struct doca_dma_task_memcpy* take_copy(struct dma_rig* rig, struct doca_buf* src, struct doca_buf* dst) {
  struct doca_dma_task_memcpy* task = NULL;
  CHECK_OK(doca_dma_task_memcpy_alloc_init(rig->dma, src, dst, (union doca_data){.u64 = 7}, &task));
  return task;
}

struct doca_task* as_task(struct doca_dma_task_memcpy* task) { return doca_dma_task_memcpy_as_task(task); }

void progress_until_completed(struct dma_rig* rig, int num_completed) {
  while (rig->num_succeeded + rig->num_failed < num_completed) doca_pe_progress(rig->stage.pe);
}

void progress_until_state(struct doca_pe* pe, struct doca_ctx* ctx, enum doca_ctx_states state) {
  while (state_of(ctx) != state) doca_pe_progress(pe);
}

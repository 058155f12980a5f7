// What programs rely on of contexts: doca_ctx.h.

#include "rig/dma_rig.h"

enum { size = 4096 };

CASE(context, running_is_reported_inside_of_ctx_start) {
  struct dma_rig rig;
  dma_rig_configure(&rig, size, count_success, count_failure, 1);
  CHECK_EQUAL(rig.num_states, 0);
  CHECK_STATUS(doca_ctx_start(rig.ctx), DOCA_SUCCESS);
  CHECK_EQUAL(rig.num_states, 1);
  CHECK_EQUAL(rig.states[0], DOCA_CTX_STATE_RUNNING);
  dma_rig_tear_down(&rig);
}

CASE(context, a_stop_of_an_idle_context_succeeds) {
  struct dma_rig rig;
  dma_rig_configure(&rig, size, count_success, count_failure, 1);
  CHECK_STATUS(doca_ctx_stop(rig.ctx), DOCA_SUCCESS);
  CHECK_OK(doca_ctx_start(rig.ctx));
  CHECK_STATUS(doca_ctx_stop(rig.ctx), DOCA_SUCCESS);
  CHECK_STATUS(doca_ctx_stop(rig.ctx), DOCA_SUCCESS);
  CHECK_EQUAL(rig.num_states, 2);
  CHECK_EQUAL(rig.states[1], DOCA_CTX_STATE_IDLE);
  dma_rig_tear_down(&rig);
}

static void stop_context(struct doca_dma_task_memcpy* task, union doca_data task_user_data,
                         union doca_data ctx_user_data) {
  struct dma_rig* rig = ctx_user_data.ptr;
  (void)task_user_data;
  doca_task_free(as_task(task));
  rig->answer = doca_ctx_stop(rig->ctx);
  rig->num_succeeded++;
}

CASE(context, a_stop_inside_of_a_callback_is_in_progress) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, stop_context, count_failure, 1);
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  progress_until_completed(&rig, 1);
  CHECK_STATUS(rig.answer, DOCA_ERROR_IN_PROGRESS);
  progress_until_state(rig.stage.pe, rig.ctx, DOCA_CTX_STATE_IDLE);
  CHECK_EQUAL(rig.num_states, 3);
  CHECK_EQUAL(rig.states[1], DOCA_CTX_STATE_STOPPING);
  dma_rig_tear_down(&rig);
}

static void stop_then_free(struct doca_dma_task_memcpy* task, union doca_data task_user_data,
                           union doca_data ctx_user_data) {
  struct dma_rig* rig = ctx_user_data.ptr;
  (void)task_user_data;
  if (rig->num_succeeded++ == 0) rig->answer = doca_ctx_stop(rig->ctx);
  doca_task_free(as_task(task));
}

CASE(context, tasks_are_freed_in_callbacks_while_the_context_stops) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, stop_then_free, stop_then_free, 8);
  struct doca_buf* dst[8];
  struct doca_buf* src = stage_data(&rig.stage, 0, 8);
  for (size_t i = 0; i < 8; i++) {
    dst[i] = stage_room(&rig.stage, 2048 + 8 * i, 8);
    CHECK_OK(doca_task_submit(as_task(take_copy(&rig, src, dst[i]))));
  }
  progress_until_state(rig.stage.pe, rig.ctx, DOCA_CTX_STATE_RUNNING);
  while (rig.num_succeeded == 0) doca_pe_progress(rig.stage.pe);
  progress_until_state(rig.stage.pe, rig.ctx, DOCA_CTX_STATE_IDLE);
  CHECK_STATUS(rig.answer, DOCA_ERROR_IN_PROGRESS);
  CHECK_EQUAL(rig.num_succeeded, 8);
  for (int i = 0; i < 8; i++) CHECK_OK(doca_buf_dec_refcount(dst[i], NULL));
  CHECK_OK(doca_buf_dec_refcount(src, NULL));
  dma_rig_tear_down(&rig);
}

CASE(context, a_stop_waits_for_tasks_that_are_not_free) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 1);
  struct doca_task* task = as_task(take_copy(&rig, rig.src, rig.dst));
  CHECK_STATUS(doca_ctx_stop(rig.ctx), DOCA_ERROR_IN_PROGRESS);
  for (int i = 0; i < 100; i++) doca_pe_progress(rig.stage.pe);
  CHECK_EQUAL(state_of(rig.ctx), DOCA_CTX_STATE_STOPPING);
  CHECK_STATUS(doca_ctx_stop(rig.ctx), DOCA_ERROR_IN_PROGRESS);
  doca_task_free(task);
  progress_until_state(rig.stage.pe, rig.ctx, DOCA_CTX_STATE_IDLE);
  dma_rig_tear_down(&rig);
}

CASE(context, a_context_starts_again_with_another_configuration) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 1);
  CHECK_STATUS(doca_dma_task_memcpy_set_conf(rig.dma, count_success, count_failure, 2), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_ctx_start(rig.ctx), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_ctx_stop(rig.ctx));
  CHECK_OK(doca_dma_task_memcpy_set_conf(rig.dma, count_success, count_failure, 2));
  CHECK_OK(doca_ctx_start(rig.ctx));
  struct doca_dma_task_memcpy* first = take_copy(&rig, rig.src, rig.dst);
  struct doca_dma_task_memcpy* second = take_copy(&rig, rig.src, rig.dst);
  doca_task_free(as_task(first));
  doca_task_free(as_task(second));
  dma_rig_tear_down(&rig);
}

CASE(context, a_start_needs_an_engine) {
  struct doca_dev* dev = open_first(doca_dma_cap_task_memcpy_is_supported);
  struct doca_dma* dma = NULL;
  CHECK_OK(doca_dma_create(dev, &dma));
  CHECK_OK(doca_dma_task_memcpy_set_conf(dma, count_success, count_failure, 1));
  CHECK_STATUS(doca_ctx_start(doca_dma_as_ctx(dma)), DOCA_ERROR_NOT_CONNECTED);
  CHECK_OK(doca_dma_destroy(dma));
  CHECK_OK(doca_dev_close(dev));
}

CASE(context, a_start_needs_a_configuration) {
  struct dma_rig rig;
  struct doca_dma* dma = NULL;
  dma_rig_configure(&rig, size, count_success, count_failure, 1);
  CHECK_OK(doca_dma_create(rig.stage.dev, &dma));
  CHECK_OK(doca_pe_connect_ctx(rig.stage.pe, doca_dma_as_ctx(dma)));
  CHECK_STATUS(doca_ctx_start(doca_dma_as_ctx(dma)), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_dma_destroy(dma));
  dma_rig_tear_down(&rig);
}

CASE(context, a_context_has_one_engine) {
  struct dma_rig rig;
  struct doca_pe* other = NULL;
  dma_rig_configure(&rig, size, count_success, count_failure, 1);
  CHECK_OK(doca_pe_create(&other));
  CHECK_STATUS(doca_pe_connect_ctx(other, rig.ctx), DOCA_ERROR_NOT_PERMITTED);
  CHECK_STATUS(doca_pe_connect_ctx(rig.stage.pe, rig.ctx), DOCA_ERROR_NOT_PERMITTED);
  CHECK_OK(doca_ctx_start(rig.ctx));
  CHECK_STATUS(doca_pe_connect_ctx(other, rig.ctx), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_pe_destroy(other));
  dma_rig_tear_down(&rig);
}

CASE(context, what_runs_is_not_destroyed) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 1);
  CHECK_STATUS(doca_dma_destroy(rig.dma), DOCA_ERROR_IN_USE);
  CHECK_STATUS(doca_pe_destroy(rig.stage.pe), DOCA_ERROR_IN_USE);
  CHECK_OK(doca_ctx_stop(rig.ctx));
  // Stopping is not enough: the context must be gone.
  CHECK_STATUS(doca_pe_destroy(rig.stage.pe), DOCA_ERROR_IN_USE);
  CHECK_STATUS(doca_dev_close(rig.stage.dev), DOCA_ERROR_IN_USE);
  dma_rig_tear_down(&rig);
}

CASE(context, user_data_are_set_in_any_state) {
  struct dma_rig rig;
  union doca_data data = {.u64 = 0};
  dma_rig_set_up(&rig, size, count_success, count_failure, 1);
  CHECK_OK(doca_ctx_get_user_data(rig.ctx, &data));
  CHECK(data.ptr == &rig);
  CHECK_OK(doca_ctx_set_user_data(rig.ctx, (union doca_data){.u64 = UINT64_MAX}));
  CHECK_OK(doca_ctx_get_user_data(rig.ctx, &data));
  CHECK_EQUAL(data.u64, UINT64_MAX);
  CHECK_OK(doca_ctx_set_user_data(rig.ctx, (union doca_data){.ptr = &rig}));
  dma_rig_tear_down(&rig);
}

CASE(context, tasks_in_flight_are_counted) {
  struct dma_rig rig;
  size_t of_context = 9;
  size_t of_engine = 9;
  dma_rig_set_up(&rig, size, count_success, count_failure, 2);
  struct doca_task* idle = as_task(take_copy(&rig, rig.src, rig.dst));
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  CHECK_OK(doca_ctx_get_num_inflight_tasks(rig.ctx, &of_context));
  CHECK_OK(doca_pe_get_num_inflight_tasks(rig.stage.pe, &of_engine));
  CHECK_EQUAL(of_context, 1);
  CHECK_EQUAL(of_engine, 1);
  progress_until_completed(&rig, 1);
  CHECK_OK(doca_ctx_get_num_inflight_tasks(rig.ctx, &of_context));
  CHECK_EQUAL(of_context, 0);
  doca_task_free(idle);
  dma_rig_tear_down(&rig);
}

CASE(context, the_configuration_of_tasks_has_limits) {
  struct dma_rig rig;
  uint32_t most = 0;
  dma_rig_configure(&rig, size, count_success, count_failure, 1);
  CHECK_OK(doca_dma_cap_get_max_num_tasks(rig.dma, &most));
  CHECK(most >= 3072);
  CHECK_STATUS(doca_dma_task_memcpy_set_conf(rig.dma, count_success, count_failure, 0), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_dma_task_memcpy_set_conf(rig.dma, NULL, count_failure, 1), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_dma_task_memcpy_set_conf(rig.dma, count_success, NULL, 1), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_dma_task_memcpy_set_conf(rig.dma, count_success, count_failure, most + 1),
               DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_dma_task_memcpy_set_conf(rig.dma, count_success, count_failure, most));
  dma_rig_tear_down(&rig);
}

CASE(context, the_datapath_of_a_gpu_or_a_dpa_is_refused) {
  struct dma_rig rig;
  dma_rig_configure(&rig, size, count_success, count_failure, 1);
  // No such object can be had, so the pointers are of something else.
  struct doca_gpu* gpu = (struct doca_gpu*)&rig;
  struct doca_dpa* dpa = (struct doca_dpa*)&rig;
  CHECK(doca_ctx_set_datapath_on_gpu(rig.ctx, gpu) != DOCA_SUCCESS);
  CHECK(doca_ctx_set_datapath_on_dpa(rig.ctx, dpa) != DOCA_SUCCESS);
  dma_rig_tear_down(&rig);
}

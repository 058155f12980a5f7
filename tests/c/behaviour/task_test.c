// What programs rely on in the life of a task: doca_pe.h, on the tasks of doca_dma.h.

#include "rig/dma_rig.h"

#include <string.h>

enum { size = 4096 };

static const union doca_data no_data = {.u64 = 0};

// The getters give what the task has, although it was freed: programs free first and read then.
static void free_then_read(struct doca_dma_task_memcpy* task, union doca_data task_user_data,
                           union doca_data ctx_user_data) {
  struct dma_rig* rig = ctx_user_data.ptr;
  doca_task_free(as_task(task));
  CHECK_STATUS(doca_task_get_status(as_task(task)), DOCA_SUCCESS);
  CHECK(doca_dma_task_memcpy_get_src(task) == rig->src);
  CHECK(doca_dma_task_memcpy_get_dst(task) == rig->dst);
  CHECK(doca_task_get_ctx(as_task(task)) == rig->ctx);
  CHECK_EQUAL(doca_task_get_user_data(as_task(task)).u64, 7);
  CHECK_EQUAL(task_user_data.u64, 7);
  rig->num_succeeded++;
}

CASE(task, getters_work_in_the_callback_after_task_free) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, free_then_read, count_failure, 1);
  memset(rig.stage.memory, 'x', size / 2);
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  progress_until_completed(&rig, 1);
  CHECK_EQUAL(rig.stage.memory[size - 1], 'x');
  dma_rig_tear_down(&rig);
}

static void read_failure_after_free(struct doca_dma_task_memcpy* task, union doca_data task_user_data,
                                    union doca_data ctx_user_data) {
  struct dma_rig* rig = ctx_user_data.ptr;
  (void)task_user_data;
  doca_task_free(as_task(task));
  CHECK_STATUS(doca_task_get_status(as_task(task)), DOCA_ERROR_IO_FAILED);
  CHECK(doca_dma_task_memcpy_get_dst(task) == rig->dst);
  rig->num_failed++;
}

CASE(task, getters_work_in_the_error_callback_after_task_free) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, read_failure_after_free, 1);
  CHECK_OK(doca_buf_reset_data_len(rig.src));
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  progress_until_completed(&rig, 1);
  progress_until_state(rig.stage.pe, rig.ctx, DOCA_CTX_STATE_IDLE);
  dma_rig_tear_down(&rig);
}

enum { many = 50 };

// Submits tasks that copy eight bytes to parts of their own; the source of one of them is empty. Those before it are
// complete, as a card completes them in order.
static void submit_copies(struct dma_rig* rig, int faulty, struct doca_buf** src, struct doca_buf** dst) {
  src[0] = stage_data(&rig->stage, 0, 8);
  src[1] = stage_room(&rig->stage, 0, 8);
  for (int i = 0; i < many; i++) {
    dst[i] = stage_room(&rig->stage, size / 2 + (size_t)i * 8, 8);
    CHECK_OK(doca_task_submit(as_task(take_copy(rig, src[i == faulty ? 1 : 0], dst[i]))));
    if (i < faulty) progress_until_completed(rig, i + 1);
  }
}

static void give_back_bufs(struct doca_buf** src, struct doca_buf** dst) {
  for (int i = 0; i < 2; i++) CHECK_OK(doca_buf_dec_refcount(src[i], NULL));
  for (int i = 0; i < many; i++) CHECK_OK(doca_buf_dec_refcount(dst[i], NULL));
}

CASE(task, that_is_flushed_is_freed_in_its_callback) {
  struct dma_rig rig;
  struct doca_buf* src[2];
  struct doca_buf* dst[many];
  dma_rig_set_up(&rig, size, count_success, count_failure, many);
  submit_copies(&rig, -1, src, dst);
  CHECK_STATUS(doca_ctx_stop(rig.ctx), DOCA_ERROR_IN_PROGRESS);
  progress_until_state(rig.stage.pe, rig.ctx, DOCA_CTX_STATE_IDLE);
  CHECK_EQUAL(rig.num_succeeded + rig.num_failed, many);
  give_back_bufs(src, dst);
  dma_rig_tear_down(&rig);
}

static void submit_again(struct doca_dma_task_memcpy* task, union doca_data task_user_data,
                         union doca_data ctx_user_data) {
  struct dma_rig* rig = ctx_user_data.ptr;
  (void)task_user_data;
  rig->num_succeeded++;
  if (rig->num_succeeded == 10) {
    doca_task_free(as_task(task));
    return;
  }
  CHECK_OK(doca_buf_reset_data_len(rig->dst));
  CHECK_OK(doca_task_submit(as_task(task)));
}

CASE(task, callbacks_submit_their_task_again) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, submit_again, count_failure, 1);
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  progress_until_completed(&rig, 10);
  CHECK_EQUAL(rig.num_failed, 0);
  dma_rig_tear_down(&rig);
}

static void turn_around(struct doca_dma_task_memcpy* task, union doca_data task_user_data,
                        union doca_data ctx_user_data) {
  struct dma_rig* rig = ctx_user_data.ptr;
  CHECK_EQUAL(task_user_data.u64, rig->num_succeeded == 0 ? 7 : 8);
  if (rig->num_succeeded++ == 1) {
    doca_task_free(as_task(task));
    return;
  }
  CHECK_OK(doca_buf_reset_data_len(rig->src));
  doca_dma_task_memcpy_set_src(task, rig->dst);
  doca_dma_task_memcpy_set_dst(task, rig->src);
  doca_task_set_user_data(as_task(task), (union doca_data){.u64 = 8});
  CHECK_OK(doca_task_submit(as_task(task)));
}

CASE(task, callbacks_change_their_task_and_submit_it) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, turn_around, count_failure, 1);
  memset(rig.stage.memory, 'x', size / 2);
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  progress_until_completed(&rig, 2);
  size_t length = 0;
  CHECK_OK(doca_buf_get_data_len(rig.src, &length));
  CHECK_EQUAL(length, size / 2);
  dma_rig_tear_down(&rig);
}

// The pool has one task, which is free for the next one as soon as it was freed.
static void take_next(struct doca_dma_task_memcpy* task, union doca_data task_user_data,
                      union doca_data ctx_user_data) {
  struct dma_rig* rig = ctx_user_data.ptr;
  struct doca_dma_task_memcpy* next = NULL;
  (void)task_user_data;
  doca_task_free(as_task(task));
  if (++rig->num_succeeded == 5) return;
  CHECK_OK(doca_buf_reset_data_len(rig->dst));
  CHECK_OK(doca_dma_task_memcpy_alloc_init(rig->dma, rig->src, rig->dst, no_data, &next));
  CHECK_OK(doca_task_submit(as_task(next)));
}

CASE(task, callbacks_take_and_submit_other_tasks) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, take_next, count_failure, 1);
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  progress_until_completed(&rig, 5);
  dma_rig_tear_down(&rig);
}

CASE(task, one_task_more_than_configured_is_no_memory) {
  struct dma_rig rig;
  struct doca_dma_task_memcpy* tasks[3];
  struct doca_dma_task_memcpy* more = NULL;
  dma_rig_set_up(&rig, size, count_success, count_failure, 3);
  for (int i = 0; i < 3; i++) tasks[i] = take_copy(&rig, rig.src, rig.dst);
  CHECK_STATUS(doca_dma_task_memcpy_alloc_init(rig.dma, rig.src, rig.dst, no_data, &more), DOCA_ERROR_NO_MEMORY);
  CHECK(more == NULL);
  for (int i = 0; i < 3; i++) doca_task_free(as_task(tasks[i]));
  dma_rig_tear_down(&rig);
}

CASE(task, a_task_is_taken_only_from_a_running_context) {
  struct dma_rig rig;
  struct doca_dma_task_memcpy* task = NULL;
  dma_rig_configure(&rig, size, count_success, count_failure, 1);
  CHECK_STATUS(doca_dma_task_memcpy_alloc_init(rig.dma, rig.src, rig.dst, no_data, &task), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_ctx_start(rig.ctx));
  task = take_copy(&rig, rig.src, rig.dst);
  CHECK_STATUS(doca_ctx_stop(rig.ctx), DOCA_ERROR_IN_PROGRESS);
  struct doca_dma_task_memcpy* other = NULL;
  CHECK_STATUS(doca_dma_task_memcpy_alloc_init(rig.dma, rig.src, rig.dst, no_data, &other), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_task_submit(as_task(task)), DOCA_ERROR_BAD_STATE);
  doca_task_free(as_task(task));
  dma_rig_tear_down(&rig);
}

CASE(task, a_task_in_flight_is_not_submitted_again) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 1);
  struct doca_task* task = as_task(take_copy(&rig, rig.src, rig.dst));
  CHECK_OK(doca_task_submit(task));
  CHECK_STATUS(doca_task_submit(task), DOCA_ERROR_BAD_STATE);
  progress_until_completed(&rig, 1);
  CHECK_EQUAL(rig.num_succeeded, 1);
  dma_rig_tear_down(&rig);
}

// Undefined in DOCA. A pool's memory stays, so that a freed task is recognised.
CASE(task, a_freed_task_is_not_submitted_and_not_freed_again) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 2);
  struct doca_task* task = as_task(take_copy(&rig, rig.src, rig.dst));
  doca_task_free(task);
  CHECK_STATUS(doca_task_submit(task), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_task_try_submit(task), DOCA_ERROR_BAD_STATE);
  doca_task_free(task);
  // A slot that was freed twice would be given out twice.
  struct doca_dma_task_memcpy* first = take_copy(&rig, rig.src, rig.dst);
  struct doca_dma_task_memcpy* second = take_copy(&rig, rig.src, rig.dst);
  CHECK(first != second);
  doca_task_free(as_task(first));
  doca_task_free(as_task(second));
  dma_rig_tear_down(&rig);
}

CASE(task, a_task_of_an_idle_context_says_so) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 2);
  struct doca_task* task = as_task(take_copy(&rig, rig.src, rig.dst));
  doca_task_free(task);
  CHECK_OK(doca_ctx_stop(rig.ctx));
  CHECK_STATUS(doca_task_submit(task), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_task_try_submit(task), DOCA_ERROR_BAD_STATE);
  CHECK(doca_task_get_ctx(task) == rig.ctx);
  doca_task_free(task);
  dma_rig_tear_down(&rig);
}

CASE(task, a_task_that_waits_for_its_completion_stays_when_freed) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 1);
  struct doca_task* task = as_task(take_copy(&rig, rig.src, rig.dst));
  CHECK_OK(doca_task_submit(task));
  doca_task_free(task);
  progress_until_completed(&rig, 1);
  dma_rig_tear_down(&rig);
}

// Programs free tasks in flight before they stop a context; then no callback follows.
CASE(task, a_task_in_flight_may_be_freed_while_its_context_stops) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 1);
  struct doca_task* task = as_task(take_copy(&rig, rig.src, rig.dst));
  CHECK_OK(doca_task_submit(task));
  CHECK_STATUS(doca_ctx_stop(rig.ctx), DOCA_ERROR_IN_PROGRESS);
  doca_task_free(task);
  progress_until_state(rig.stage.pe, rig.ctx, DOCA_CTX_STATE_IDLE);
  CHECK_EQUAL(rig.num_succeeded + rig.num_failed, 0);
  dma_rig_tear_down(&rig);
}

CASE(task, try_submit_refuses_what_submit_takes) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 1);
  CHECK_OK(doca_buf_reset_data_len(rig.src));
  struct doca_task* task = as_task(take_copy(&rig, rig.src, rig.dst));
  CHECK_STATUS(doca_task_try_submit(task), DOCA_ERROR_INVALID_VALUE);
  CHECK_EQUAL(state_of(rig.ctx), DOCA_CTX_STATE_RUNNING);
  CHECK_OK(doca_task_submit(task));
  progress_until_completed(&rig, 1);
  CHECK_EQUAL(rig.num_failed, 1);
  CHECK_STATUS(rig.first_failure, DOCA_ERROR_IO_FAILED);
  progress_until_state(rig.stage.pe, rig.ctx, DOCA_CTX_STATE_IDLE);
  dma_rig_tear_down(&rig);
}

CASE(task, try_submit_refuses_missing_bufs) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 1);
  struct doca_dma_task_memcpy* task = take_copy(&rig, NULL, NULL);
  CHECK_STATUS(doca_task_try_submit(as_task(task)), DOCA_ERROR_INVALID_VALUE);
  doca_dma_task_memcpy_set_src(task, rig.src);
  CHECK_STATUS(doca_task_try_submit(as_task(task)), DOCA_ERROR_INVALID_VALUE);
  doca_dma_task_memcpy_set_dst(task, rig.dst);
  CHECK_OK(doca_task_try_submit(as_task(task)));
  progress_until_completed(&rig, 1);
  dma_rig_tear_down(&rig);
}

CASE(task, a_failed_task_stops_its_context_and_flushes_the_others) {
  struct dma_rig rig;
  struct doca_buf* src[2];
  struct doca_buf* dst[many];
  dma_rig_set_up(&rig, size, count_success, count_failure, many);
  submit_copies(&rig, 2, src, dst);
  progress_until_state(rig.stage.pe, rig.ctx, DOCA_CTX_STATE_IDLE);
  CHECK_EQUAL(rig.num_succeeded, 2);
  CHECK_EQUAL(rig.num_failed, many - 2);
  CHECK_STATUS(rig.first_failure, DOCA_ERROR_IO_FAILED);
  CHECK_EQUAL(rig.num_states, 3);
  CHECK_EQUAL(rig.states[1], DOCA_CTX_STATE_STOPPING);
  CHECK_STATUS(doca_ctx_stop(rig.ctx), DOCA_SUCCESS);
  give_back_bufs(src, dst);
  dma_rig_tear_down(&rig);
}

CASE(task, a_context_that_failed_starts_again) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 1);
  CHECK_OK(doca_buf_reset_data_len(rig.src));
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  progress_until_state(rig.stage.pe, rig.ctx, DOCA_CTX_STATE_IDLE);
  CHECK_OK(doca_ctx_start(rig.ctx));
  CHECK_OK(doca_buf_set_data(rig.src, rig.stage.memory, 100));
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  progress_until_completed(&rig, 2);
  CHECK_EQUAL(rig.num_succeeded, 1);
  dma_rig_tear_down(&rig);
}

CASE(task, a_copy_larger_than_the_limit_fails_at_its_completion) {
  struct dma_rig rig;
  uint64_t limit = 0;
  struct doca_dev* dev = open_first(doca_dma_cap_task_memcpy_is_supported);
  CHECK_OK(doca_dma_cap_task_memcpy_get_max_buf_size(doca_dev_as_devinfo(dev), &limit));
  CHECK_OK(doca_dev_close(dev));
  dma_rig_set_up(&rig, (size_t)2 * (limit + 1), count_success, count_failure, 1);
  struct doca_task* task = as_task(take_copy(&rig, rig.src, rig.dst));
  CHECK_STATUS(doca_task_try_submit(task), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_task_submit(task));
  progress_until_completed(&rig, 1);
  CHECK_STATUS(rig.first_failure, DOCA_ERROR_IO_FAILED);
  progress_until_state(rig.stage.pe, rig.ctx, DOCA_CTX_STATE_IDLE);
  dma_rig_tear_down(&rig);
}

// One function for both outcomes, which reads the status.
static void note_status(struct doca_dma_task_memcpy* task, union doca_data task_user_data,
                        union doca_data ctx_user_data) {
  struct dma_rig* rig = ctx_user_data.ptr;
  (void)task_user_data;
  rig->answer = doca_task_get_status(as_task(task));
  rig->num_succeeded++;
  doca_task_free(as_task(task));
}

CASE(task, one_function_may_be_both_callbacks) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, note_status, note_status, 1);
  rig.answer = DOCA_ERROR_UNKNOWN;
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  progress_until_completed(&rig, 1);
  CHECK_STATUS(rig.answer, DOCA_SUCCESS);
  CHECK_OK(doca_buf_reset_data_len(rig.src));
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  progress_until_completed(&rig, 2);
  CHECK_STATUS(rig.answer, DOCA_ERROR_IO_FAILED);
  dma_rig_tear_down(&rig);
}

static void turn_flag(struct doca_dma_task_memcpy* task, union doca_data task_user_data,
                      union doca_data ctx_user_data) {
  struct dma_rig* rig = ctx_user_data.ptr;
  (void)task_user_data;
  rig->num_succeeded++;
  CHECK(task != NULL);
}

CASE(task, a_task_is_submitted_again_outside_of_the_callback) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, turn_flag, count_failure, 1);
  struct doca_task* task = as_task(take_copy(&rig, rig.src, rig.dst));
  for (int i = 0; i < 4; i++) {
    CHECK_OK(doca_buf_reset_data_len(rig.dst));
    CHECK_OK(doca_task_submit(task));
    progress_until_completed(&rig, i + 1);
    CHECK_STATUS(doca_task_get_status(task), DOCA_SUCCESS);
  }
  doca_task_free(task);
  dma_rig_tear_down(&rig);
}

CASE(task, tasks_without_the_flag_flush_complete_after_a_flush) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 3);
  struct doca_buf* dst[3] = {stage_room(&rig.stage, 2048, 8), stage_room(&rig.stage, 2056, 8),
                             stage_room(&rig.stage, 2064, 8)};
  struct doca_buf* src = stage_data(&rig.stage, 0, 8);
  for (int i = 0; i < 3; i++) {
    CHECK_OK(doca_task_submit_ex(as_task(take_copy(&rig, src, dst[i])), DOCA_TASK_SUBMIT_FLAG_NONE));
  }
  doca_ctx_flush_tasks(rig.ctx);
  progress_until_completed(&rig, 3);
  CHECK_EQUAL(rig.num_succeeded, 3);
  for (int i = 0; i < 3; i++) CHECK_OK(doca_buf_dec_refcount(dst[i], NULL));
  CHECK_OK(doca_buf_dec_refcount(src, NULL));
  dma_rig_tear_down(&rig);
}

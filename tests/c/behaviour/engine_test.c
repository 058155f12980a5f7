// What programs rely on of the progress engine: doca_pe.h.

#include "rig/dma_rig.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { size = 4096, large = 2 * 1024 * 1024 };

static int handle_of(struct doca_pe* pe) {
  doca_notification_handle_t handle = doca_event_invalid_handle;
  CHECK_OK(doca_pe_get_notification_handle(pe, &handle));
  CHECK(handle >= 0);
  return handle;
}

// Whether the handle is readable within so many milliseconds.
static bool is_readable(int handle, int timeout) {
  struct pollfd one = {.fd = handle, .events = POLLIN};
  return poll(&one, 1, timeout) == 1;
}

CASE(engine, the_handle_stays_the_same) {
  struct doca_pe* pe = NULL;
  CHECK_OK(doca_pe_create(&pe));
  CHECK_EQUAL(handle_of(pe), handle_of(pe));
  CHECK_STATUS(doca_pe_set_notification_handle(pe, 0, (union doca_data){.u64 = 0}), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_OK(doca_pe_destroy(pe));
}

CASE(engine, an_engine_without_work_does_not_wake) {
  struct doca_pe* pe = NULL;
  CHECK_OK(doca_pe_create(&pe));
  CHECK_EQUAL(doca_pe_progress(pe), 0);
  CHECK_OK(doca_pe_request_notification(pe));
  CHECK(!is_readable(handle_of(pe), 20));
  CHECK_OK(doca_pe_clear_notification(pe, 0));
  CHECK_OK(doca_pe_destroy(pe));
}

// The copy is done before the notification is requested.
CASE(engine, arming_with_work_pending_wakes_at_once) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 1);
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  usleep(20000);
  CHECK_OK(doca_pe_request_notification(rig.stage.pe));
  CHECK(is_readable(handle_of(rig.stage.pe), 0));
  CHECK_OK(doca_pe_clear_notification(rig.stage.pe, handle_of(rig.stage.pe)));
  CHECK_EQUAL(doca_pe_progress(rig.stage.pe), 1);
  CHECK_EQUAL(rig.num_succeeded, 1);
  dma_rig_tear_down(&rig);
}

static void run_event_loop(struct dma_rig* rig, int num_completed) {
  const int handle = handle_of(rig->stage.pe);
  while (rig->num_succeeded + rig->num_failed < num_completed) {
    CHECK_OK(doca_pe_request_notification(rig->stage.pe));
    CHECK(is_readable(handle, -1));
    CHECK_OK(doca_pe_clear_notification(rig->stage.pe, 0));
    while (doca_pe_progress(rig->stage.pe) != 0) {
    }
  }
}

static void copy_again(struct doca_dma_task_memcpy* task, union doca_data task_user_data,
                       union doca_data ctx_user_data) {
  struct dma_rig* rig = ctx_user_data.ptr;
  (void)task_user_data;
  if (++rig->num_succeeded == 50) {
    doca_task_free(as_task(task));
    return;
  }
  CHECK_OK(doca_buf_reset_data_len(rig->dst));
  CHECK_OK(doca_task_submit(as_task(task)));
}

CASE(engine, a_loop_that_sleeps_misses_no_small_copy) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, copy_again, count_failure, 1);
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  run_event_loop(&rig, 50);
  dma_rig_tear_down(&rig);
}

CASE(engine, a_loop_that_sleeps_misses_no_large_copy) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, large, copy_again, count_failure, 1);
  memset(rig.stage.memory, 'x', large / 2);
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  run_event_loop(&rig, 50);
  CHECK_EQUAL(rig.stage.memory[large - 1], 'x');
  dma_rig_tear_down(&rig);
}

CASE(engine, both_event_modes_wake) {
  static const enum doca_pe_event_mode modes[] = {DOCA_PE_EVENT_PROGRESS_ALL, DOCA_PE_EVENT_PROGRESS_SELECTIVE};
  for (int i = 0; i < 2; i++) {
    struct dma_rig rig;
    dma_rig_set_up(&rig, large, copy_again, count_failure, 1);
    CHECK_OK(doca_pe_set_event_mode(rig.stage.pe, modes[i]));
    CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
    run_event_loop(&rig, 50);
    dma_rig_tear_down(&rig);
  }
}

// Programs that use PROGRESS_ALL leave out the clearing: a request drains the handle.
CASE(engine, progress_all_needs_no_clearing) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, large, copy_again, count_failure, 1);
  CHECK_OK(doca_pe_set_event_mode(rig.stage.pe, DOCA_PE_EVENT_PROGRESS_ALL));
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  while (rig.num_succeeded < 50) {
    CHECK_OK(doca_pe_request_notification(rig.stage.pe));
    CHECK(is_readable(handle_of(rig.stage.pe), -1));
    while (doca_pe_progress(rig.stage.pe) != 0) {
    }
  }
  CHECK_OK(doca_pe_request_notification(rig.stage.pe));
  CHECK(!is_readable(handle_of(rig.stage.pe), 20));
  dma_rig_tear_down(&rig);
}

CASE(engine, a_call_of_progress_delivers_one_completion) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 4);
  struct doca_buf* src = stage_data(&rig.stage, 0, 8);
  struct doca_buf* dst[4];
  for (size_t i = 0; i < 4; i++) {
    dst[i] = stage_room(&rig.stage, 2048 + 8 * i, 8);
    CHECK_OK(doca_task_submit(as_task(take_copy(&rig, src, dst[i]))));
  }
  usleep(20000);
  for (int i = 1; i <= 4; i++) {
    CHECK_EQUAL(doca_pe_progress(rig.stage.pe), 1);
    CHECK_EQUAL(rig.num_succeeded, i);
  }
  CHECK_EQUAL(doca_pe_progress(rig.stage.pe), 0);
  for (int i = 0; i < 4; i++) CHECK_OK(doca_buf_dec_refcount(dst[i], NULL));
  CHECK_OK(doca_buf_dec_refcount(src, NULL));
  dma_rig_tear_down(&rig);
}

CASE(engine, a_submission_runs_no_callback) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 1);
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  CHECK_EQUAL(rig.num_succeeded, 0);
  progress_until_completed(&rig, 1);
  dma_rig_tear_down(&rig);
}

static void* copy_in_a_thread(void* arg) {
  struct dma_rig rig;
  (void)arg;
  dma_rig_set_up(&rig, size, copy_again, count_failure, 1);
  CHECK_OK(doca_task_submit(as_task(take_copy(&rig, rig.src, rig.dst))));
  progress_until_completed(&rig, 50);
  dma_rig_tear_down(&rig);
  return NULL;
}

CASE(engine, each_thread_has_an_engine_of_its_own) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) CHECK_EQUAL(pthread_create(&threads[i], NULL, copy_in_a_thread, NULL), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

struct two_contexts {
  struct doca_dma* second;
  struct doca_dma_task_memcpy* task_of_second;
};

static void submit_to_the_other(struct doca_dma_task_memcpy* task, union doca_data task_user_data,
                                union doca_data ctx_user_data) {
  struct dma_rig* rig = ctx_user_data.ptr;
  struct two_contexts* two = task_user_data.ptr;
  rig->num_succeeded++;
  if (rig->num_succeeded == 1) CHECK_OK(doca_task_submit(as_task(two->task_of_second)));
  doca_task_free(as_task(task));
}

CASE(engine, a_callback_submits_to_another_context_of_its_engine) {
  struct dma_rig rig;
  struct two_contexts two = {NULL, NULL};
  dma_rig_set_up(&rig, size, submit_to_the_other, count_failure, 1);
  CHECK_OK(doca_dma_create(rig.stage.dev, &two.second));
  struct doca_ctx* second = doca_dma_as_ctx(two.second);
  CHECK_OK(doca_dma_task_memcpy_set_conf(two.second, submit_to_the_other, count_failure, 1));
  CHECK_OK(doca_ctx_set_user_data(second, (union doca_data){.ptr = &rig}));
  CHECK_OK(doca_pe_connect_ctx(rig.stage.pe, second));
  CHECK_OK(doca_ctx_start(second));
  struct doca_buf* dst = stage_room(&rig.stage, 0, size / 2);
  struct doca_dma_task_memcpy* first = NULL;
  const union doca_data data = {.ptr = &two};
  CHECK_OK(doca_dma_task_memcpy_alloc_init(rig.dma, rig.src, rig.dst, data, &first));
  CHECK_OK(doca_dma_task_memcpy_alloc_init(two.second, rig.dst, dst, data, &two.task_of_second));
  CHECK_OK(doca_task_submit(as_task(first)));
  progress_until_completed(&rig, 2);
  CHECK_EQUAL(rig.num_succeeded, 2);
  stage_stop(&rig.stage, second);
  CHECK_OK(doca_dma_destroy(two.second));
  CHECK_OK(doca_buf_dec_refcount(dst, NULL));
  dma_rig_tear_down(&rig);
}

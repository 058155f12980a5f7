#include "rig/case.h"
#include "rig/device.h"
#include "rig/stage.h"

#include <doca_dma.h>
#include <stdlib.h>
#include <string.h>

enum { num_tasks = 4, half = 4096 };

/// What the callbacks have seen: the user data of the context.
struct seen {
  int successes;
  int failures;
  doca_error_t status;
  uint64_t task_data;
  const struct doca_buf* src;
  struct doca_buf* dst;
};

static void note(struct doca_dma_task_memcpy* task, union doca_data task_data, struct seen* seen) {
  seen->status = doca_task_get_status(doca_dma_task_memcpy_as_task(task));
  seen->task_data = task_data.u64;
}

static void copied(struct doca_dma_task_memcpy* task, union doca_data task_data, union doca_data ctx_data) {
  struct seen* seen = ctx_data.ptr;
  ++seen->successes;
  note(task, task_data, seen);
}

static void failed(struct doca_dma_task_memcpy* task, union doca_data task_data, union doca_data ctx_data) {
  struct seen* seen = ctx_data.ptr;
  ++seen->failures;
  note(task, task_data, seen);
  doca_task_free(doca_dma_task_memcpy_as_task(task));
}

/// Asks the task after it was freed.
static void copied_and_freed(struct doca_dma_task_memcpy* task, union doca_data task_data, union doca_data ctx_data) {
  struct seen* seen = ctx_data.ptr;
  doca_task_free(doca_dma_task_memcpy_as_task(task));
  seen->src = doca_dma_task_memcpy_get_src(task);
  seen->dst = doca_dma_task_memcpy_get_dst(task);
  ++seen->successes;
  note(task, task_data, seen);
}

static struct doca_dma* make_dma(struct stage* stage, struct seen* seen,
                                 doca_dma_task_memcpy_completion_cb_t on_success) {
  memset(seen, 0, sizeof *seen);
  stage_open(stage, open_first_device(), 2 * half);
  memset(stage->memory, 0x5a, half);
  struct doca_dma* dma = NULL;
  CHECK_OK(doca_dma_create(stage->dev, &dma));
  CHECK_OK(doca_dma_task_memcpy_set_conf(dma, on_success, failed, num_tasks));
  CHECK_OK(doca_ctx_set_user_data(doca_dma_as_ctx(dma), (union doca_data){.ptr = seen}));
  stage_start(stage, doca_dma_as_ctx(dma));
  return dma;
}

static void end_dma(struct stage* stage, struct doca_dma* dma) {
  stage_stop(stage, doca_dma_as_ctx(dma));
  CHECK_OK(doca_dma_destroy(dma));
  stage_close(stage);
}

static struct doca_dma_task_memcpy* take(struct doca_dma* dma, const struct doca_buf* src, struct doca_buf* dst,
                                         uint64_t data) {
  struct doca_dma_task_memcpy* task = NULL;
  CHECK_OK(doca_dma_task_memcpy_alloc_init(dma, src, dst, (union doca_data){.u64 = data}, &task));
  return task;
}

CASE(dma, a_copy_appends_to_dst) {
  struct stage stage;
  struct seen seen;
  struct doca_dma* dma = make_dma(&stage, &seen, copied);
  struct doca_buf* src = stage_data(&stage, 0, 100);
  struct doca_buf* dst = stage_room(&stage, half, half);
  struct doca_dma_task_memcpy* task = take(dma, src, dst, 7);
  CHECK_OK(doca_task_submit(doca_dma_task_memcpy_as_task(task)));
  stage_progress_until(&stage, &seen.successes, 1);
  CHECK(seen.status == DOCA_SUCCESS && seen.task_data == 7);
  CHECK(data_len(dst) == 100);
  CHECK_OK(doca_task_try_submit(doca_dma_task_memcpy_as_task(task)));
  stage_progress_until(&stage, &seen.successes, 2);
  CHECK(data_len(dst) == 200);
  CHECK(memcmp(stage.memory + half, stage.memory, 200) == 0 && stage.memory[half + 200] == 0);
  doca_task_free(doca_dma_task_memcpy_as_task(task));
  give_back(src);
  give_back(dst);
  end_dma(&stage, dma);
}

CASE(dma, a_freed_task_still_answers_in_its_callback) {
  struct stage stage;
  struct seen seen;
  struct doca_dma* dma = make_dma(&stage, &seen, copied_and_freed);
  struct doca_buf* src = stage_data(&stage, 0, 100);
  struct doca_buf* dst = stage_room(&stage, half, half);
  CHECK_OK(doca_task_submit(doca_dma_task_memcpy_as_task(take(dma, src, dst, 3))));
  stage_progress_until(&stage, &seen.successes, 1);
  CHECK(seen.src == src && seen.dst == dst);
  CHECK(seen.status == DOCA_SUCCESS && seen.task_data == 3);
  give_back(src);
  give_back(dst);
  end_dma(&stage, dma);
}

CASE(dma, operands_can_be_set_before_the_submission) {
  struct stage stage;
  struct seen seen;
  struct doca_dma* dma = make_dma(&stage, &seen, copied_and_freed);
  struct doca_buf* src = stage_data(&stage, 0, 100);
  struct doca_buf* dst = stage_room(&stage, half, half);
  struct doca_dma_task_memcpy* task = take(dma, NULL, NULL, 0);
  CHECK(doca_dma_task_memcpy_get_src(task) == NULL && doca_dma_task_memcpy_get_dst(task) == NULL);
  CHECK_INVALID(doca_task_try_submit(doca_dma_task_memcpy_as_task(task)));
  doca_dma_task_memcpy_set_src(task, src);
  doca_dma_task_memcpy_set_dst(task, dst);
  CHECK(doca_dma_task_memcpy_get_src(task) == src && doca_dma_task_memcpy_get_dst(task) == dst);
  CHECK_OK(doca_task_try_submit(doca_dma_task_memcpy_as_task(task)));
  stage_progress_until(&stage, &seen.successes, 1);
  CHECK(data_len(dst) == 100);
  give_back(src);
  give_back(dst);
  end_dma(&stage, dma);
}

CASE(dma, more_tasks_than_configured_are_no_memory) {
  struct stage stage;
  struct seen seen;
  struct doca_dma* dma = make_dma(&stage, &seen, copied);
  struct doca_dma_task_memcpy* tasks[num_tasks];
  for (int i = 0; i < num_tasks; ++i) {
    tasks[i] = take(dma, NULL, NULL, 0);
  }
  struct doca_dma_task_memcpy* task = NULL;
  CHECK_STATUS(doca_dma_task_memcpy_alloc_init(dma, NULL, NULL, (union doca_data){.u64 = 0}, &task),
               DOCA_ERROR_NO_MEMORY);
  CHECK(task == NULL);
  for (int i = 0; i < num_tasks; ++i) {
    doca_task_free(doca_dma_task_memcpy_as_task(tasks[i]));
  }
  doca_task_free(doca_dma_task_memcpy_as_task(take(dma, NULL, NULL, 0)));
  end_dma(&stage, dma);
}

CASE(dma, an_empty_source_fails_and_stops_the_context) {
  struct stage stage;
  struct seen seen;
  struct doca_dma* dma = make_dma(&stage, &seen, copied);
  struct doca_buf* src = stage_room(&stage, 0, 100);
  struct doca_buf* dst = stage_room(&stage, half, half);
  struct doca_dma_task_memcpy* task = take(dma, src, dst, 0);
  CHECK_INVALID(doca_task_try_submit(doca_dma_task_memcpy_as_task(task)));
  CHECK_OK(doca_task_submit(doca_dma_task_memcpy_as_task(task)));
  stage_progress_until(&stage, &seen.failures, 1);
  CHECK(seen.status == DOCA_ERROR_IO_FAILED);
  CHECK(state_of(doca_dma_as_ctx(dma)) != DOCA_CTX_STATE_RUNNING);
  CHECK_STATUS(doca_dma_task_memcpy_alloc_init(dma, src, dst, (union doca_data){.u64 = 0}, &task),
               DOCA_ERROR_BAD_STATE);
  give_back(src);
  give_back(dst);
  end_dma(&stage, dma);
}

CASE(dma, a_source_above_the_limit_fails_at_its_completion) {
  struct stage stage;
  struct seen seen = {0};
  stage_open(&stage, open_first_device(), 6 << 20);
  uint64_t limit = 0;
  CHECK_OK(doca_dma_cap_task_memcpy_get_max_buf_size(doca_dev_as_devinfo(stage.dev), &limit));
  CHECK(limit == 2 << 20);
  struct doca_dma* dma = NULL;
  CHECK_OK(doca_dma_create(stage.dev, &dma));
  CHECK_OK(doca_dma_task_memcpy_set_conf(dma, copied, failed, 1));
  CHECK_OK(doca_ctx_set_user_data(doca_dma_as_ctx(dma), (union doca_data){.ptr = &seen}));
  stage_start(&stage, doca_dma_as_ctx(dma));
  struct doca_buf* src = stage_data(&stage, 0, limit + 1);
  struct doca_buf* dst = stage_room(&stage, 3 << 20, 3 << 20);
  CHECK_OK(doca_task_submit(doca_dma_task_memcpy_as_task(take(dma, src, dst, 0))));
  stage_progress_until(&stage, &seen.failures, 1);
  CHECK(seen.status == DOCA_ERROR_IO_FAILED);
  give_back(src);
  give_back(dst);
  end_dma(&stage, dma);
}

CASE(dma, memory_that_may_only_be_read_is_not_written) {
  struct stage stage;
  struct seen seen;
  struct doca_dma* dma = make_dma(&stage, &seen, copied);
  CHECK_OK(doca_mmap_stop(stage.mmap));
  CHECK_OK(doca_mmap_set_permissions(stage.mmap, DOCA_ACCESS_FLAG_LOCAL_READ_ONLY));
  CHECK_OK(doca_mmap_start(stage.mmap));
  struct doca_buf* src = stage_data(&stage, 0, 100);
  struct doca_buf* dst = stage_room(&stage, half, half);
  CHECK_OK(doca_task_submit(doca_dma_task_memcpy_as_task(take(dma, src, dst, 0))));
  stage_progress_until(&stage, &seen.failures, 1);
  CHECK(seen.status == DOCA_ERROR_IO_FAILED && stage.memory[half] == 0);
  give_back(src);
  give_back(dst);
  end_dma(&stage, dma);
}

CASE(dma, a_task_is_in_flight_once) {
  struct stage stage;
  struct seen seen;
  struct doca_dma* dma = make_dma(&stage, &seen, copied);
  struct doca_buf* src = stage_data(&stage, 0, 100);
  struct doca_buf* dst = stage_room(&stage, half, half);
  struct doca_dma_task_memcpy* task = take(dma, src, dst, 0);
  CHECK_OK(doca_task_submit(doca_dma_task_memcpy_as_task(task)));
  CHECK_STATUS(doca_task_submit(doca_dma_task_memcpy_as_task(task)), DOCA_ERROR_BAD_STATE);
  doca_dma_task_memcpy_set_src(task, dst);
  CHECK(doca_dma_task_memcpy_get_src(task) == src);
  stage_progress_until(&stage, &seen.successes, 1);
  CHECK_STATUS(doca_ctx_stop(doca_dma_as_ctx(dma)), DOCA_ERROR_IN_PROGRESS);
  CHECK_STATUS(doca_task_submit(doca_dma_task_memcpy_as_task(task)), DOCA_ERROR_BAD_STATE);
  doca_task_free(doca_dma_task_memcpy_as_task(task));
  give_back(src);
  give_back(dst);
  end_dma(&stage, dma);
}

CASE(dma, a_context_needs_a_conf) {
  struct stage stage;
  stage_open(&stage, open_first_device(), half);
  struct doca_dma* dma = NULL;
  CHECK_OK(doca_dma_create(stage.dev, &dma));
  CHECK_OK(doca_pe_connect_ctx(stage.pe, doca_dma_as_ctx(dma)));
  CHECK_INVALID(doca_ctx_start(doca_dma_as_ctx(dma)));
  CHECK_OK(doca_dma_destroy(dma));
  stage_close(&stage);
}

CASE(dma, configuration_is_refused_unless_idle) {
  struct stage stage;
  struct seen seen;
  struct doca_dma* dma = make_dma(&stage, &seen, copied);
  CHECK_STATUS(doca_dma_task_memcpy_set_conf(dma, copied, failed, 1), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_dma_set_ordered_completions(dma, 1), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_dma_destroy(dma), DOCA_ERROR_IN_USE);
  stage_stop(&stage, doca_dma_as_ctx(dma));
  CHECK_OK(doca_dma_set_ordered_completions(dma, 1));
  CHECK_OK(doca_dma_task_memcpy_set_conf(dma, copied, failed, 1));
  CHECK_OK(doca_ctx_start(doca_dma_as_ctx(dma)));
  end_dma(&stage, dma);
}

CASE(dma, a_conf_needs_callbacks_and_a_possible_number) {
  struct doca_dev* dev = open_first_device();
  struct doca_dma* dma = NULL;
  CHECK_OK(doca_dma_create(dev, &dma));
  uint32_t limit = 0;
  CHECK_OK(doca_dma_cap_get_max_num_tasks(dma, &limit));
  CHECK(limit > 0);
  CHECK_INVALID(doca_dma_task_memcpy_set_conf(dma, NULL, failed, 1));
  CHECK_INVALID(doca_dma_task_memcpy_set_conf(dma, copied, NULL, 1));
  CHECK_INVALID(doca_dma_task_memcpy_set_conf(dma, copied, failed, 0));
  CHECK_INVALID(doca_dma_task_memcpy_set_conf(dma, copied, failed, limit + 1));
  CHECK_OK(doca_dma_task_memcpy_set_conf(dma, copied, failed, limit));
  CHECK_STATUS(doca_ctx_start(doca_dma_as_ctx(dma)), DOCA_ERROR_NOT_CONNECTED);
  CHECK_OK(doca_dma_destroy(dma));
  CHECK_OK(doca_dev_close(dev));
}

CASE(dma, a_task_is_taken_from_a_running_context_only) {
  struct doca_dev* dev = open_first_device();
  struct doca_dma* dma = NULL;
  CHECK_OK(doca_dma_create(dev, &dma));
  CHECK_OK(doca_dma_task_memcpy_set_conf(dma, copied, failed, 1));
  struct doca_dma_task_memcpy* task = NULL;
  CHECK_STATUS(doca_dma_task_memcpy_alloc_init(dma, NULL, NULL, (union doca_data){.u64 = 0}, &task),
               DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_dma_destroy(dma));
  CHECK_OK(doca_dev_close(dev));
}

CASE(dma, null_and_a_destroyed_object_are_invalid) {
  struct doca_dev* dev = open_first_device();
  struct doca_dma* dma = NULL;
  CHECK_INVALID(doca_dma_create(NULL, &dma));
  CHECK_INVALID(doca_dma_create(dev, NULL));
  CHECK_OK(doca_dma_create(dev, &dma));
  CHECK_STATUS(doca_dev_close(dev), DOCA_ERROR_IN_USE);
  struct doca_dma_task_memcpy* task = NULL;
  const union doca_data none = {.u64 = 0};
  CHECK_INVALID(doca_dma_task_memcpy_alloc_init(NULL, NULL, NULL, none, &task));
  CHECK_INVALID(doca_dma_task_memcpy_alloc_init(dma, NULL, NULL, none, NULL));
  CHECK_INVALID(doca_dma_task_memcpy_set_conf(NULL, copied, failed, 1));
  uint32_t limit = 0;
  CHECK_INVALID(doca_dma_cap_get_max_num_tasks(dma, NULL));
  CHECK(doca_dma_as_ctx(NULL) == NULL && doca_dma_task_memcpy_as_task(NULL) == NULL);
  CHECK(doca_dma_task_memcpy_get_src(NULL) == NULL);
  doca_dma_task_memcpy_set_src(NULL, NULL);
  CHECK_OK(doca_dma_destroy(dma));
  CHECK_INVALID(doca_dma_destroy(dma));
  CHECK_INVALID(doca_dma_destroy(NULL));
  CHECK_INVALID(doca_dma_cap_get_max_num_tasks(dma, &limit));
  CHECK_INVALID(doca_dma_task_memcpy_alloc_init(dma, NULL, NULL, none, &task));
  CHECK(doca_dma_as_ctx(dma) == NULL);
  CHECK_OK(doca_dev_close(dev));
}

CASE(dma, capabilities_answer_by_device) {
  struct doca_dev* dev = open_first_device();
  const struct doca_devinfo* info = doca_dev_as_devinfo(dev);
  CHECK_OK(doca_dma_cap_task_memcpy_is_supported(info));
  CHECK_INVALID(doca_dma_cap_task_memcpy_is_supported(NULL));
  uint32_t elements = 0;
  CHECK_OK(doca_dma_cap_task_memcpy_get_max_buf_list_len(info, &elements));
  CHECK(elements > 1);
  CHECK_INVALID(doca_dma_cap_task_memcpy_get_max_buf_list_len(info, NULL));
  struct doca_dma* dma = NULL;
  CHECK_OK(doca_dma_create(dev, &dma));
  struct doca_gpu_dma* gpu = NULL;
  CHECK_STATUS(doca_dma_get_gpu_handle(dma, &gpu), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_OK(doca_dma_destroy(dma));
  CHECK_OK(doca_dev_close(dev));
}

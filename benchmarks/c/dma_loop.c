#include "loops.h"
#include "stage.h"

#include <doca_dma.h>
#include <stdlib.h>

struct c_dma_loop {
  struct stage stage;
  struct doca_dma* dma;
  struct doca_dma_task_memcpy* idle[depth];
  uint32_t num_idle;
  uint64_t to_submit;
  uint64_t completed;
  bool is_fresh;
};

static const union doca_data none = {.u64 = 0};

static struct doca_dma_task_memcpy* take(struct c_dma_loop* loop, const struct doca_buf* src, struct doca_buf* dst) {
  struct doca_dma_task_memcpy* task = NULL;
  require(doca_dma_task_memcpy_alloc_init(loop->dma, src, dst, none, &task));
  return task;
}

static void copied(struct doca_dma_task_memcpy* task, union doca_data task_data, union doca_data ctx_data) {
  struct c_dma_loop* loop = ctx_data.ptr;
  (void)task_data;
  require(doca_buf_reset_data_len(doca_dma_task_memcpy_get_dst(task)));
  ++loop->completed;
  if (loop->is_fresh) {
    const struct doca_buf* src = doca_dma_task_memcpy_get_src(task);
    struct doca_buf* dst = doca_dma_task_memcpy_get_dst(task);
    doca_task_free(doca_dma_task_memcpy_as_task(task));
    task = take(loop, src, dst);
  }
  if (loop->to_submit == 0) {
    loop->idle[loop->num_idle++] = task;
  } else {
    --loop->to_submit;
    require(doca_task_submit(doca_dma_task_memcpy_as_task(task)));
  }
}

static void failed(struct doca_dma_task_memcpy* task, union doca_data task_data, union doca_data ctx_data) {
  (void)task_data;
  (void)ctx_data;
  refuse(doca_task_get_status(doca_dma_task_memcpy_as_task(task)));
}

struct c_dma_loop* c_dma_open(bool is_fresh) {
  struct c_dma_loop* loop = calloc(1, sizeof *loop);
  if (loop == NULL) refuse(DOCA_ERROR_NO_MEMORY);
  loop->is_fresh = is_fresh;
  stage_open(&loop->stage, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE);
  require(doca_dma_create(loop->stage.dev, &loop->dma));
  require(doca_dma_task_memcpy_set_conf(loop->dma, copied, failed, depth));
  stage_start(&loop->stage, doca_dma_as_ctx(loop->dma), loop);
  for (; loop->num_idle < depth; ++loop->num_idle) {
    struct doca_buf* src = stage_data(&loop->stage, loop->stage.mmap, loop->num_idle);
    struct doca_buf* dst = stage_room(&loop->stage, loop->stage.mmap, depth + loop->num_idle);
    loop->idle[loop->num_idle] = take(loop, src, dst);
  }
  return loop;
}

void c_dma_run(struct c_dma_loop* loop, uint64_t count) {
  const uint64_t end = loop->completed + count;
  loop->to_submit = count - loop->num_idle;
  loop->num_idle = 0;
  for (uint32_t i = 0; i < depth; ++i) require(doca_task_submit(doca_dma_task_memcpy_as_task(loop->idle[i])));
  while (loop->completed < end) (void)doca_pe_progress(loop->stage.pe);
}

void c_dma_close(struct c_dma_loop* loop) {
  for (uint32_t i = 0; i < depth; ++i) {
    struct doca_dma_task_memcpy* task = loop->idle[i];
    require(doca_buf_dec_refcount((struct doca_buf*)doca_dma_task_memcpy_get_src(task), NULL));
    require(doca_buf_dec_refcount(doca_dma_task_memcpy_get_dst(task), NULL));
    doca_task_free(doca_dma_task_memcpy_as_task(task));
  }
  stage_stop(&loop->stage, doca_dma_as_ctx(loop->dma));
  require(doca_dma_destroy(loop->dma));
  stage_close(&loop->stage);
  free(loop);
}

#include "loops.h"
#include "stage.h"

#include <doca_sha.h>
#include <stdlib.h>

enum { log_depth = 5 };

struct c_sha_loop {
  struct stage stage;
  struct doca_sha* sha;
  struct doca_buf* src[depth];
  struct doca_buf* dst[depth];
  uint64_t to_submit;
  uint64_t completed;
};

static void start(struct c_sha_loop* loop, union doca_data number) {
  struct doca_sha_task_hash* task = NULL;
  require(doca_sha_task_hash_alloc_init(loop->sha, DOCA_SHA_ALGORITHM_SHA256, loop->src[number.u64],
                                        loop->dst[number.u64], number, &task));
  require(doca_task_submit(doca_sha_task_hash_as_task(task)));
}

static void hashed(struct doca_sha_task_hash* task, union doca_data number, union doca_data ctx_data) {
  struct c_sha_loop* loop = ctx_data.ptr;
  require(doca_buf_reset_data_len(loop->dst[number.u64]));
  doca_task_free(doca_sha_task_hash_as_task(task));
  ++loop->completed;
  if (loop->to_submit > 0) {
    --loop->to_submit;
    start(loop, number);
  }
}

static void failed(struct doca_sha_task_hash* task, union doca_data number, union doca_data ctx_data) {
  (void)number;
  (void)ctx_data;
  refuse(doca_task_get_status(doca_sha_task_hash_as_task(task)));
}

struct c_sha_loop* c_sha_open(void) {
  struct c_sha_loop* loop = calloc(1, sizeof *loop);
  if (loop == NULL) refuse(DOCA_ERROR_NO_MEMORY);
  stage_open(&loop->stage, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE);
  require(doca_sha_create(loop->stage.dev, &loop->sha));
  require(doca_sha_task_hash_set_conf(loop->sha, hashed, failed, log_depth));
  stage_start(&loop->stage, doca_sha_as_ctx(loop->sha), loop);
  for (size_t i = 0; i < depth; ++i) {
    loop->src[i] = stage_data(&loop->stage, loop->stage.mmap, i);
    loop->dst[i] = stage_room(&loop->stage, loop->stage.mmap, depth + i);
  }
  return loop;
}

void c_sha_run(struct c_sha_loop* loop, uint64_t count) {
  const uint64_t end = loop->completed + count;
  loop->to_submit = count - depth;
  for (uint64_t i = 0; i < depth; ++i) start(loop, (union doca_data){.u64 = i});
  while (loop->completed < end) (void)doca_pe_progress(loop->stage.pe);
}

void c_sha_close(struct c_sha_loop* loop) {
  for (size_t i = 0; i < depth; ++i) {
    require(doca_buf_dec_refcount(loop->src[i], NULL));
    require(doca_buf_dec_refcount(loop->dst[i], NULL));
  }
  stage_stop(&loop->stage, doca_sha_as_ctx(loop->sha));
  require(doca_sha_destroy(loop->sha));
  stage_close(&loop->stage);
  free(loop);
}

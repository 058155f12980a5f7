// After the start of a context its data path allocates nothing. malloc() of this executable counts.

#include "rig/stand.h"

#include <stdlib.h>

enum { size = 4096, rounds = 100 };

static long num_allocations = 0;

extern void* __libc_malloc(size_t bytes);

// What C++ allocates comes here, too.
void* malloc(size_t bytes) {
  __atomic_add_fetch(&num_allocations, 1, __ATOMIC_RELAXED);
  return __libc_malloc(bytes);
}

static void take_submit_and_complete(struct dma_rig* rig, int round) {
  CHECK_OK(doca_buf_reset_data_len(rig->dst));
  CHECK_OK(doca_task_submit(as_task(take_copy(rig, rig->src, rig->dst))));
  progress_until_completed(rig, round);
}

CASE(allocation, none_by_tasks_and_bufs) {
  struct dma_rig rig;
  dma_rig_set_up(&rig, size, count_success, count_failure, 1);
  take_submit_and_complete(&rig, 1);
  const long before = __atomic_load_n(&num_allocations, __ATOMIC_RELAXED);
  for (int i = 2; i < rounds; i++) {
    take_submit_and_complete(&rig, i);
    struct doca_buf* first = data_buf(&rig.stand, 0, 8);
    struct doca_buf* second = data_buf(&rig.stand, 8, 8);
    CHECK_OK(doca_buf_chain_list(first, second));
    CHECK_OK(doca_buf_dec_refcount(first, NULL));
  }
  CHECK_EQUAL(__atomic_load_n(&num_allocations, __ATOMIC_RELAXED) - before, 0);
  dma_rig_tear_down(&rig);
}

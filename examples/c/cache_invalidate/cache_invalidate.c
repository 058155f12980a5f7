// Drops memory of the DPU from the caches of its processor, so that the next access reads what is in memory. Functions
// of a host cannot: there the program finds no device.

#include "common.h"

#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_mmap_advise.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { size = 65536 };

struct resources {
  struct doca_dev* dev;
  struct doca_pe* pe;
  struct doca_mmap_advise* advise;
  struct doca_buf_inventory* inventory;
  struct region region;
};

// What a task tells when it has completed: its user data.
struct outcome {
  bool is_done;
  doca_error_t status;
};

static void on_completion(struct doca_mmap_advise_task_invalidate_cache* task, union doca_data task_data,
                          union doca_data ctx_data) {
  struct outcome* outcome = task_data.ptr;
  struct doca_task* base = doca_mmap_advise_task_invalidate_cache_as_doca_task(task);
  (void)ctx_data;
  outcome->status = doca_task_get_status(base);
  outcome->is_done = true;
  doca_task_free(base);
}

static doca_error_t create_context(struct resources* all) {
  doca_error_t result = doca_pe_create(&all->pe);
  if (result != DOCA_SUCCESS) return result;
  result = doca_mmap_advise_create(all->dev, &all->advise);
  if (result != DOCA_SUCCESS) return result;
  result = doca_mmap_advise_task_invalidate_cache_set_conf(all->advise, on_completion, on_completion, 1);
  if (result != DOCA_SUCCESS) return result;
  result = doca_pe_connect_ctx(all->pe, doca_mmap_advise_as_ctx(all->advise));
  return result == DOCA_SUCCESS ? doca_ctx_start(doca_mmap_advise_as_ctx(all->advise)) : result;
}

static doca_error_t create(struct resources* all) {
  doca_error_t result = open_device(NULL, doca_mmap_advise_cap_task_cache_invalidate_is_supported, &all->dev);
  if (result != DOCA_SUCCESS) return result;
  result = region_create(all->dev, size, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, &all->region);
  if (result != DOCA_SUCCESS) return result;
  result = doca_buf_inventory_create(1, &all->inventory);
  if (result != DOCA_SUCCESS) return result;
  result = doca_buf_inventory_start(all->inventory);
  return result == DOCA_SUCCESS ? create_context(all) : result;
}

static doca_error_t destroy_context(struct resources* all) {
  doca_error_t result = DOCA_SUCCESS;
  if (all->advise != NULL) {
    result = stop_context(all->pe, doca_mmap_advise_as_ctx(all->advise));
    const doca_error_t destroyed = doca_mmap_advise_destroy(all->advise);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  if (all->pe != NULL) {
    const doca_error_t destroyed = doca_pe_destroy(all->pe);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  return result;
}

static doca_error_t destroy(struct resources* all) {
  doca_error_t result = destroy_context(all);
  if (all->inventory != NULL) {
    const doca_error_t destroyed = doca_buf_inventory_destroy(all->inventory);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  const doca_error_t unmapped = region_destroy(&all->region);
  DOCA_ERROR_PROPAGATE(result, unmapped);
  if (all->dev != NULL) {
    const doca_error_t closed = doca_dev_close(all->dev);
    DOCA_ERROR_PROPAGATE(result, closed);
  }
  return result;
}

static doca_error_t run_task(struct resources* all, struct doca_buf* buf) {
  const struct timespec pause = {.tv_nsec = 10000};
  struct outcome outcome = {0};
  struct doca_mmap_advise_task_invalidate_cache* task = NULL;
  const union doca_data data = {.ptr = &outcome};
  doca_error_t result = doca_mmap_advise_task_invalidate_cache_alloc_init(all->advise, buf, data, &task);
  if (result != DOCA_SUCCESS) return result;
  struct doca_task* base = doca_mmap_advise_task_invalidate_cache_as_doca_task(task);
  result = doca_task_submit(base);
  if (result != DOCA_SUCCESS) {
    doca_task_free(base);
    return result;
  }
  while (!outcome.is_done) {
    if (doca_pe_progress(all->pe) == 0) nanosleep(&pause, NULL);
  }
  return outcome.status;
}

// What this processor has changed is written to memory first.
static doca_error_t drop(struct resources* all) {
  const struct region* region = &all->region;
  struct doca_buf* buf = NULL;
  memset(region->memory, 0x5a, region->size);
  doca_error_t result =
      doca_buf_inventory_buf_get_by_data(all->inventory, region->mmap, region->memory, region->size, &buf);
  if (result != DOCA_SUCCESS) return result;
  result = run_task(all, buf);
  const doca_error_t given_back = doca_buf_dec_refcount(buf, NULL);
  DOCA_ERROR_PROPAGATE(result, given_back);
  if (result == DOCA_SUCCESS && region->memory[size - 1] != 0x5a) result = DOCA_ERROR_UNEXPECTED;
  return result;
}

int main(void) {
  struct resources all = {0};
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = create(&all);
  if (result == DOCA_SUCCESS) result = drop(&all);
  if (result == DOCA_SUCCESS) printf("%d bytes were dropped from the caches\n", size);
  const doca_error_t destroyed = destroy(&all);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("cache_invalidate", result);
}

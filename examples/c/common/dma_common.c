#include "dma_common.h"

static void copied(struct doca_dma_task_memcpy* task, union doca_data task_user_data, union doca_data ctx_user_data) {
  struct completion* completion = task_user_data.ptr;
  (void)ctx_user_data;
  completion->status = doca_task_get_status(doca_dma_task_memcpy_as_task(task));
  completion->is_done = true;
  doca_task_free(doca_dma_task_memcpy_as_task(task));
}

static doca_error_t start_dma(struct doca_dev* dev, uint32_t num_tasks, struct copier* copier) {
  doca_error_t result = doca_dma_create(dev, &copier->dma);
  if (result != DOCA_SUCCESS) return result;
  // One function serves both outcomes: it reads the task's status.
  result = doca_dma_task_memcpy_set_conf(copier->dma, copied, copied, num_tasks);
  if (result != DOCA_SUCCESS) return result;
  result = doca_pe_connect_ctx(copier->pe, doca_dma_as_ctx(copier->dma));
  if (result != DOCA_SUCCESS) return result;
  return doca_ctx_start(doca_dma_as_ctx(copier->dma));
}

doca_error_t copier_create(struct doca_dev* dev, uint32_t num_tasks, struct copier* copier) {
  doca_error_t result = doca_pe_create(&copier->pe);
  if (result != DOCA_SUCCESS) return result;
  result = start_dma(dev, num_tasks, copier);
  if (result != DOCA_SUCCESS) return result;
  result = doca_buf_inventory_create(2 * (size_t)num_tasks, &copier->inventory);
  if (result != DOCA_SUCCESS) return result;
  return doca_buf_inventory_start(copier->inventory);
}

doca_error_t copier_destroy(struct copier* copier) {
  doca_error_t result = DOCA_SUCCESS;
  if (copier->dma != NULL) {
    const doca_error_t stopped = stop_context(copier->pe, doca_dma_as_ctx(copier->dma));
    const doca_error_t destroyed = doca_dma_destroy(copier->dma);
    DOCA_ERROR_PROPAGATE(result, stopped);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  if (copier->pe != NULL) {
    const doca_error_t destroyed = doca_pe_destroy(copier->pe);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  if (copier->inventory != NULL) {
    const doca_error_t destroyed = doca_buf_inventory_destroy(copier->inventory);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  *copier = (struct copier){0};
  return result;
}

doca_error_t copier_submit(struct copier* copier, struct doca_buf* src, struct doca_buf* dst,
                           struct completion* completion) {
  struct doca_dma_task_memcpy* task = NULL;
  const union doca_data user_data = {.ptr = completion};
  doca_error_t result = doca_dma_task_memcpy_alloc_init(copier->dma, src, dst, user_data, &task);
  if (result != DOCA_SUCCESS) return result;
  completion->is_done = false;
  result = doca_task_submit(doca_dma_task_memcpy_as_task(task));
  if (result != DOCA_SUCCESS) doca_task_free(doca_dma_task_memcpy_as_task(task));
  return result;
}

doca_error_t copier_wait(struct copier* copier, const struct completion* completion) {
  while (!completion->is_done) doca_pe_progress(copier->pe);
  return completion->status;
}

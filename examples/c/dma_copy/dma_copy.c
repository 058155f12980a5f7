// Copies a text from one buffer to another by DMA, in one process.

#include "dma_common.h"

#include <doca_log.h>
#include <stdio.h>
#include <string.h>

DOCA_LOG_REGISTER(DMA_COPY);

struct resources {
  struct doca_dev* dev;
  struct copier copier;
  struct region src;
  struct region dst;
};

static doca_error_t create(size_t size, struct resources* all) {
  doca_error_t result = open_device(NULL, doca_dma_cap_task_memcpy_is_supported, &all->dev);
  if (result != DOCA_SUCCESS) return result;
  result = region_create(all->dev, size, DOCA_ACCESS_FLAG_LOCAL_READ_ONLY, &all->src);
  if (result != DOCA_SUCCESS) return result;
  result = region_create(all->dev, size, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, &all->dst);
  if (result != DOCA_SUCCESS) return result;
  return copier_create(all->dev, 1, &all->copier);
}

static doca_error_t destroy(struct resources* all) {
  doca_error_t result = copier_destroy(&all->copier);
  const doca_error_t src = region_destroy(&all->src);
  const doca_error_t dst = region_destroy(&all->dst);
  DOCA_ERROR_PROPAGATE(result, src);
  DOCA_ERROR_PROPAGATE(result, dst);
  if (all->dev != NULL) {
    const doca_error_t closed = doca_dev_close(all->dev);
    DOCA_ERROR_PROPAGATE(result, closed);
  }
  return result;
}

// The bufs refer to all of src as data, and to all of dst as room for data.
static doca_error_t get_bufs(struct resources* all, struct doca_buf** src, struct doca_buf** dst) {
  struct doca_buf_inventory* inventory = all->copier.inventory;
  doca_error_t result =
      doca_buf_inventory_buf_get_by_data(inventory, all->src.mmap, all->src.memory, all->src.size, src);
  if (result != DOCA_SUCCESS) return result;
  return doca_buf_inventory_buf_get_by_addr(inventory, all->dst.mmap, all->dst.memory, all->dst.size, dst);
}

static void give_back(struct doca_buf* buf) {
  if (buf != NULL) doca_buf_dec_refcount(buf, NULL);
}

static doca_error_t copy(struct resources* all) {
  struct doca_buf* src = NULL;
  struct doca_buf* dst = NULL;
  struct completion completion = {0};
  size_t length = 0;
  doca_error_t result = get_bufs(all, &src, &dst);
  if (result == DOCA_SUCCESS) result = copier_submit(&all->copier, src, dst, &completion);
  if (result == DOCA_SUCCESS) result = copier_wait(&all->copier, &completion);
  if (result == DOCA_SUCCESS) result = doca_buf_get_data_len(dst, &length);
  if (result == DOCA_SUCCESS) DOCA_LOG_INFO("%zu bytes were copied", length);
  give_back(src);
  give_back(dst);
  return result;
}

int main(int argc, char** argv) {
  const char* text = argc > 1 ? argv[1] : "This text was copied by DMA";
  const size_t size = strlen(text) + 1;
  struct resources all = {0};
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = create(size, &all);
  if (result == DOCA_SUCCESS) {
    memcpy(all.src.memory, text, size);
    result = copy(&all);
  }
  if (result == DOCA_SUCCESS) printf("%s\n", all.dst.memory);
  const doca_error_t destroyed = destroy(&all);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("dma_copy", result);
}

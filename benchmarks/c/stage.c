#include "stage.h"

#include <stdio.h>
#include <stdlib.h>

void refuse(doca_error_t status) {
  fprintf(stderr, "benchmark: a call that should have succeeded failed: %s\n", doca_error_get_descr(status));
  exit(2);
}

static struct doca_dev* open_device(const char* pci_addr) {
  struct doca_devinfo** list = NULL;
  struct doca_dev* dev = NULL;
  uint32_t count = 0;
  require(doca_devinfo_create_list(&list, &count));
  for (uint32_t i = 0; i < count && dev == NULL; ++i) {
    uint8_t is_equal = 0;
    require(doca_devinfo_is_equal_pci_addr(list[i], pci_addr, &is_equal));
    if (is_equal) require(doca_dev_open(list[i], &dev));
  }
  require(doca_devinfo_destroy_list(list));
  if (dev == NULL) refuse(DOCA_ERROR_NOT_FOUND);
  return dev;
}

void stage_open(struct stage* stage, uint32_t permissions) {
  stage->dev = open_device("0b:00.0");
  stage->memory = calloc(num_bufs, task_size);
  if (stage->memory == NULL) refuse(DOCA_ERROR_NO_MEMORY);
  require(doca_pe_create(&stage->pe));
  require(doca_buf_inventory_create(num_bufs, &stage->inventory));
  require(doca_buf_inventory_start(stage->inventory));
  require(doca_mmap_create(&stage->mmap));
  require(doca_mmap_set_memrange(stage->mmap, stage->memory, (size_t)num_bufs * task_size));
  require(doca_mmap_set_permissions(stage->mmap, permissions));
  require(doca_mmap_add_dev(stage->mmap, stage->dev));
  require(doca_mmap_start(stage->mmap));
}

void stage_close(struct stage* stage) {
  require(doca_buf_inventory_destroy(stage->inventory));
  require(doca_mmap_destroy(stage->mmap));
  require(doca_pe_destroy(stage->pe));
  require(doca_dev_close(stage->dev));
  free(stage->memory);
}

static char* piece_of(struct doca_mmap* mmap, size_t number) {
  void* begin = NULL;
  size_t size = 0;
  require(doca_mmap_get_memrange(mmap, &begin, &size));
  return (char*)begin + number * task_size;
}

struct doca_buf* stage_data(struct stage* stage, struct doca_mmap* mmap, size_t number) {
  struct doca_buf* buf = NULL;
  require(doca_buf_inventory_buf_get_by_data(stage->inventory, mmap, piece_of(mmap, number), task_size, &buf));
  return buf;
}

struct doca_buf* stage_room(struct stage* stage, struct doca_mmap* mmap, size_t number) {
  struct doca_buf* buf = NULL;
  require(doca_buf_inventory_buf_get_by_addr(stage->inventory, mmap, piece_of(mmap, number), task_size, &buf));
  return buf;
}

static enum doca_ctx_states state_of(const struct doca_ctx* ctx) {
  enum doca_ctx_states state = DOCA_CTX_STATE_IDLE;
  require(doca_ctx_get_state(ctx, &state));
  return state;
}

void stage_start(struct stage* stage, struct doca_ctx* ctx, void* user_data) {
  require(doca_ctx_set_user_data(ctx, (union doca_data){.ptr = user_data}));
  require(doca_pe_connect_ctx(stage->pe, ctx));
  const doca_error_t started = doca_ctx_start(ctx);
  if (started != DOCA_ERROR_IN_PROGRESS) require(started);
}

void stage_stop(struct stage* stage, struct doca_ctx* ctx) {
  const doca_error_t stopped = doca_ctx_stop(ctx);
  if (stopped != DOCA_ERROR_IN_PROGRESS) require(stopped);
  while (state_of(ctx) != DOCA_CTX_STATE_IDLE) (void)doca_pe_progress(stage->pe);
}

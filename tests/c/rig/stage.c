#include "rig/stage.h"

#include "rig/case.h"
#include "rig/map.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

void stage_open(struct stage* stage, struct doca_dev* dev, size_t size) {
  memset(stage, 0, sizeof *stage);
  stage->dev = dev;
  stage->size = size;
  stage->memory = malloc(size);
  CHECK(stage->memory != NULL);
  memset(stage->memory, 0, size);
  CHECK_OK(doca_pe_create(&stage->pe));
  CHECK_OK(doca_buf_inventory_create(64, &stage->inventory));
  CHECK_OK(doca_buf_inventory_start(stage->inventory));
  stage->mmap = start_map(dev, stage->memory, size);
}

void stage_close(struct stage* stage) {
  CHECK_OK(doca_pe_destroy(stage->pe));
  CHECK_OK(doca_buf_inventory_stop(stage->inventory));
  CHECK_OK(doca_buf_inventory_destroy(stage->inventory));
  CHECK_OK(doca_mmap_destroy(stage->mmap));
  free(stage->memory);
  CHECK_OK(doca_dev_close(stage->dev));
}

struct doca_buf* stage_data(struct stage* stage, size_t offset, size_t length) {
  struct doca_buf* buf = NULL;
  CHECK_OK(doca_buf_inventory_buf_get_by_data(stage->inventory, stage->mmap, stage->memory + offset, length, &buf));
  return buf;
}

struct doca_buf* stage_room(struct stage* stage, size_t offset, size_t length) {
  struct doca_buf* buf = NULL;
  CHECK_OK(doca_buf_inventory_buf_get_by_addr(stage->inventory, stage->mmap, stage->memory + offset, length, &buf));
  return buf;
}

size_t data_len(const struct doca_buf* buf) {
  size_t length = 0;
  CHECK_OK(doca_buf_get_data_len(buf, &length));
  return length;
}

void give_back(struct doca_buf* buf) { CHECK_OK(doca_buf_dec_refcount(buf, NULL)); }

void stage_start(struct stage* stage, struct doca_ctx* ctx) {
  CHECK_OK(doca_pe_connect_ctx(stage->pe, ctx));
  CHECK_OK(doca_ctx_start(ctx));
  CHECK(state_of(ctx) == DOCA_CTX_STATE_RUNNING);
}

enum doca_ctx_states state_of(const struct doca_ctx* ctx) {
  enum doca_ctx_states state = DOCA_CTX_STATE_IDLE;
  CHECK_OK(doca_ctx_get_state(ctx, &state));
  return state;
}

void stop_until_idle(struct doca_pe* pe, struct doca_ctx* ctx) {
  const doca_error_t result = doca_ctx_stop(ctx);
  CHECK(result == DOCA_SUCCESS || result == DOCA_ERROR_IN_PROGRESS);
  const time_t end = time(NULL) + 10;
  while (state_of(ctx) != DOCA_CTX_STATE_IDLE) {
    CHECK(time(NULL) < end);
    (void)doca_pe_progress(pe);
  }
}

void stage_stop(struct stage* stage, struct doca_ctx* ctx) { stop_until_idle(stage->pe, ctx); }

void stage_progress_until(struct stage* stage, const int* count, int wanted) {
  const time_t end = time(NULL) + 10;
  while (*count < wanted) {
    CHECK(time(NULL) < end);
    (void)doca_pe_progress(stage->pe);
  }
}

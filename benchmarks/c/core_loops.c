// What programs do without a library.

#include "loops.h"
#include "stage.h"

#include <doca_sync_event.h>
#include <stdlib.h>

static void* zeroed(size_t size) {
  void* const memory = calloc(1, size);
  if (memory == NULL) refuse(DOCA_ERROR_NO_MEMORY);
  return memory;
}

struct c_buf_loop {
  struct stage stage;
};

struct c_buf_loop* c_buf_open(void) {
  struct c_buf_loop* loop = zeroed(sizeof *loop);
  stage_open(&loop->stage, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE);
  return loop;
}

void c_buf_run(struct c_buf_loop* loop, uint64_t count) {
  struct doca_buf_inventory* const inventory = loop->stage.inventory;
  struct doca_mmap* const mmap = loop->stage.mmap;
  char* const memory = loop->stage.memory;
  for (struct doca_buf* out[depth]; count >= depth; count -= depth) {
    for (int i = 0; i < depth; i += 2) {
      require(doca_buf_inventory_buf_get_by_data(inventory, mmap, memory, task_size, &out[i]));
      require(doca_buf_inventory_buf_get_by_addr(inventory, mmap, memory, task_size, &out[i + 1]));
    }
    for (int i = 0; i < depth; ++i) require(doca_buf_dec_refcount(out[i], NULL));
  }
}

void c_buf_close(struct c_buf_loop* loop) {
  stage_close(&loop->stage);
  free(loop);
}

struct c_event_loop {
  struct stage stage;
  struct doca_sync_event* event;
};

struct c_event_loop* c_event_open(void) {
  struct c_event_loop* loop = zeroed(sizeof *loop);
  stage_open(&loop->stage, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE);
  require(doca_sync_event_create(&loop->event));
  require(doca_sync_event_add_publisher_location_cpu(loop->event, loop->stage.dev));
  require(doca_sync_event_add_subscriber_location_cpu(loop->event, loop->stage.dev));
  require(doca_sync_event_start(loop->event));
  return loop;
}

void c_event_run(struct c_event_loop* loop, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    require(doca_sync_event_update_set(loop->event, i));
    require(doca_sync_event_get(loop->event, &value));
    require(doca_sync_event_wait_eq(loop->event, value, UINT64_MAX));
  }
}

void c_event_close(struct c_event_loop* loop) {
  require(doca_sync_event_stop(loop->event));
  require(doca_sync_event_destroy(loop->event));
  stage_close(&loop->stage);
  free(loop);
}

struct c_idle_loop {
  struct stage stage;
};

struct c_idle_loop* c_idle_open(void) {
  struct c_idle_loop* loop = zeroed(sizeof *loop);
  stage_open(&loop->stage, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE);
  return loop;
}

void c_idle_run(struct c_idle_loop* loop, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) (void)doca_pe_progress(loop->stage.pe);
}

void c_idle_close(struct c_idle_loop* loop) {
  stage_close(&loop->stage);
  free(loop);
}

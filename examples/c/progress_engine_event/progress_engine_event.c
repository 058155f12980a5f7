// A progress engine whose thread sleeps: epoll waits for its notification handle. Two tasks copy a megabyte back and
// forth; the callback submits its task again, and stops the context after the last one.

#include "common.h"

#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_dma.h>
#include <doca_log.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

DOCA_LOG_REGISTER(PROGRESS_ENGINE_EVENT);

enum { num_tasks = 2, rounds = 8, size = 1024 * 1024 };

struct resources {
  struct doca_dev* dev;
  struct doca_pe* pe;
  struct doca_dma* dma;
  struct doca_buf_inventory* inventory;
  struct region region;
  struct doca_buf* bufs[2 * num_tasks];
  int epoll;
  int num_wakes;
  int num_submitted;
  int num_completed;
  bool is_running;
  doca_error_t result;
};

static void note(struct resources* all, doca_error_t result) { DOCA_ERROR_PROPAGATE(all->result, result); }

static void state_changed(const union doca_data user_data, struct doca_ctx* ctx, enum doca_ctx_states previous,
                          enum doca_ctx_states next) {
  struct resources* all = user_data.ptr;
  (void)ctx;
  DOCA_LOG_INFO("The context was in state %d and is in state %d", (int)previous, (int)next);
  all->is_running = next != DOCA_CTX_STATE_IDLE;
}

// The next round copies what this one has copied.
static doca_error_t turn(struct doca_dma_task_memcpy* task) {
  const struct doca_buf* src = doca_dma_task_memcpy_get_src(task);
  struct doca_buf* dst = doca_dma_task_memcpy_get_dst(task);
  struct doca_buf* next_dst = (struct doca_buf*)(uintptr_t)src;  // it is one of ours, and not const
  const doca_error_t result = doca_buf_reset_data_len(next_dst);
  if (result != DOCA_SUCCESS) return result;
  doca_dma_task_memcpy_set_src(task, dst);
  doca_dma_task_memcpy_set_dst(task, next_dst);
  return doca_task_submit(doca_dma_task_memcpy_as_task(task));
}

static void stop(struct resources* all) {
  const doca_error_t result = doca_ctx_stop(doca_dma_as_ctx(all->dma));
  if (result != DOCA_ERROR_IN_PROGRESS) note(all, result);
}

static void completed(struct doca_dma_task_memcpy* task, union doca_data task_user_data,
                      union doca_data ctx_user_data) {
  struct resources* all = ctx_user_data.ptr;
  (void)task_user_data;
  all->num_completed++;
  if (all->num_submitted < num_tasks * rounds) {
    all->num_submitted++;
    const doca_error_t result = turn(task);
    note(all, result);
    if (result == DOCA_SUCCESS) return;
  }
  doca_task_free(doca_dma_task_memcpy_as_task(task));
  if (all->num_completed == num_tasks * rounds || all->result != DOCA_SUCCESS) stop(all);
}

static void failed(struct doca_dma_task_memcpy* task, union doca_data task_user_data, union doca_data ctx_user_data) {
  struct resources* all = ctx_user_data.ptr;
  (void)task_user_data;
  note(all, doca_task_get_status(doca_dma_task_memcpy_as_task(task)));
  doca_task_free(doca_dma_task_memcpy_as_task(task));
  stop(all);
}

static doca_error_t start_dma(struct resources* all) {
  doca_error_t result = doca_dma_create(all->dev, &all->dma);
  if (result != DOCA_SUCCESS) return result;
  struct doca_ctx* ctx = doca_dma_as_ctx(all->dma);
  result = doca_dma_task_memcpy_set_conf(all->dma, completed, failed, num_tasks);
  if (result != DOCA_SUCCESS) return result;
  result = doca_ctx_set_user_data(ctx, (union doca_data){.ptr = all});
  if (result != DOCA_SUCCESS) return result;
  result = doca_ctx_set_state_changed_cb(ctx, state_changed);
  if (result != DOCA_SUCCESS) return result;
  result = doca_pe_connect_ctx(all->pe, ctx);
  return result == DOCA_SUCCESS ? doca_ctx_start(ctx) : result;
}

static doca_error_t watch_engine(struct resources* all) {
  doca_notification_handle_t handle = doca_event_invalid_handle;
  struct epoll_event event = {.events = EPOLLIN};
  doca_error_t result = doca_pe_create(&all->pe);
  if (result != DOCA_SUCCESS) return result;
  result = doca_pe_get_notification_handle(all->pe, &handle);
  if (result != DOCA_SUCCESS) return result;
  all->epoll = epoll_create1(EPOLL_CLOEXEC);
  if (all->epoll < 0 || epoll_ctl(all->epoll, EPOLL_CTL_ADD, handle, &event) != 0) return DOCA_ERROR_OPERATING_SYSTEM;
  return DOCA_SUCCESS;
}

static doca_error_t create(struct resources* all) {
  doca_error_t result = open_device(NULL, doca_dma_cap_task_memcpy_is_supported, &all->dev);
  if (result != DOCA_SUCCESS) return result;
  result = region_create(all->dev, (size_t)2 * num_tasks * size, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, &all->region);
  if (result != DOCA_SUCCESS) return result;
  result = doca_buf_inventory_create((size_t)2 * num_tasks, &all->inventory);
  if (result != DOCA_SUCCESS) return result;
  result = doca_buf_inventory_start(all->inventory);
  if (result == DOCA_SUCCESS) result = watch_engine(all);
  return result == DOCA_SUCCESS ? start_dma(all) : result;
}

static doca_error_t submit(struct resources* all, int index) {
  char* memory = all->region.memory + (size_t)index * 2 * size;
  struct doca_buf** bufs = &all->bufs[2 * index];
  struct doca_dma_task_memcpy* task = NULL;
  const union doca_data none = {0};
  memset(memory, 'a' + index, size);
  doca_error_t result = doca_buf_inventory_buf_get_by_data(all->inventory, all->region.mmap, memory, size, &bufs[0]);
  if (result != DOCA_SUCCESS) return result;
  result = doca_buf_inventory_buf_get_by_addr(all->inventory, all->region.mmap, memory + size, size, &bufs[1]);
  if (result != DOCA_SUCCESS) return result;
  result = doca_dma_task_memcpy_alloc_init(all->dma, bufs[0], bufs[1], none, &task);
  if (result != DOCA_SUCCESS) return result;
  result = doca_task_submit(doca_dma_task_memcpy_as_task(task));
  if (result != DOCA_SUCCESS) doca_task_free(doca_dma_task_memcpy_as_task(task));
  if (result == DOCA_SUCCESS) all->num_submitted++;
  return result;
}

// Sleeps until the engine has something to deliver, then delivers all of it. What is there already when the
// notification is requested wakes epoll at once.
static doca_error_t progress_until_idle(struct resources* all) {
  struct epoll_event event;
  while (all->is_running) {
    doca_error_t result = doca_pe_request_notification(all->pe);
    if (result != DOCA_SUCCESS) return result;
    if (epoll_wait(all->epoll, &event, 1, -1) < 0) return DOCA_ERROR_OPERATING_SYSTEM;
    result = doca_pe_clear_notification(all->pe, 0);
    if (result != DOCA_SUCCESS) return result;
    all->num_wakes++;
    while (doca_pe_progress(all->pe) != 0) {
    }
  }
  return all->result;
}

static doca_error_t run(struct resources* all) {
  for (int i = 0; i < num_tasks; i++) {
    const doca_error_t result = submit(all, i);
    if (result != DOCA_SUCCESS) return result;
  }
  const doca_error_t result = progress_until_idle(all);
  DOCA_LOG_INFO("The engine was woken %d times", all->num_wakes);
  if (result == DOCA_SUCCESS) printf("%d tasks of %d bytes have completed\n", all->num_completed, size);
  return result;
}

static doca_error_t destroy(struct resources* all) {
  doca_error_t result = DOCA_SUCCESS;
  if (all->dma != NULL) {
    const doca_error_t stopped = stop_context(all->pe, doca_dma_as_ctx(all->dma));
    const doca_error_t destroyed = doca_dma_destroy(all->dma);
    DOCA_ERROR_PROPAGATE(result, stopped);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  if (all->epoll >= 0) close(all->epoll);
  if (all->pe != NULL) {
    const doca_error_t destroyed = doca_pe_destroy(all->pe);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  for (int i = 0; i < 2 * num_tasks; i++) {
    if (all->bufs[i] != NULL) doca_buf_dec_refcount(all->bufs[i], NULL);
  }
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

int main(void) {
  struct resources all = {.epoll = -1};
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = create(&all);
  if (result == DOCA_SUCCESS) result = run(&all);
  const doca_error_t destroyed = destroy(&all);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("progress_engine_event", result);
}

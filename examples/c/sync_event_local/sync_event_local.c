// Sync events in one process: one is used by synchronous calls, another by tasks.

#include "common.h"

#include <doca_log.h>
#include <doca_sync_event.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

DOCA_LOG_REGISTER(SYNC_EVENT_LOCAL);

static const uint64_t whole_value = UINT64_MAX;  // the mask that leaves all bits

// An event that this processor updates and waits for.
static doca_error_t create_event(struct doca_dev* dev, struct doca_sync_event** event) {
  doca_error_t result = doca_sync_event_create(event);
  if (result != DOCA_SUCCESS) return result;
  result = doca_sync_event_add_publisher_location_cpu(*event, dev);
  if (result != DOCA_SUCCESS) return result;
  return doca_sync_event_add_subscriber_location_cpu(*event, dev);
}

static doca_error_t call(struct doca_sync_event* event) {
  uint64_t before = 0;
  uint64_t value = 0;
  doca_error_t result = doca_sync_event_update_set(event, 40);
  if (result == DOCA_SUCCESS) result = doca_sync_event_update_add(event, 2, &before);
  if (result == DOCA_SUCCESS) result = doca_sync_event_wait_gt(event, 41, whole_value);
  if (result == DOCA_SUCCESS) result = doca_sync_event_get(event, &value);
  if (result == DOCA_SUCCESS) printf("synchronous: %" PRIu64 ", then %" PRIu64 "\n", before, value);
  return result;
}

static doca_error_t use_synchronously(struct doca_dev* dev) {
  struct doca_sync_event* event = NULL;
  doca_error_t result = create_event(dev, &event);
  if (result == DOCA_SUCCESS) {
    result = doca_sync_event_start(event);
    if (result == DOCA_SUCCESS) {
      result = call(event);
      const doca_error_t stopped = doca_sync_event_stop(event);
      DOCA_ERROR_PROPAGATE(result, stopped);
    }
  }
  if (event != NULL) {
    const doca_error_t destroyed = doca_sync_event_destroy(event);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  return result;
}

static void added(struct doca_sync_event_task_notify_add* task, union doca_data task_user_data,
                  union doca_data ctx_user_data) {
  (void)ctx_user_data;
  *(bool*)task_user_data.ptr = true;
  doca_task_free(doca_sync_event_task_notify_add_as_doca_task(task));
}

static void waited(struct doca_sync_event_task_wait_eq* task, union doca_data task_user_data,
                   union doca_data ctx_user_data) {
  (void)ctx_user_data;
  *(bool*)task_user_data.ptr = true;
  doca_task_free(doca_sync_event_task_wait_eq_as_doca_task(task));
}

static doca_error_t submit_add(struct doca_sync_event* event, uint64_t* fetched, bool* is_done) {
  struct doca_sync_event_task_notify_add* task = NULL;
  doca_error_t result =
      doca_sync_event_task_notify_add_alloc_init(event, 1, fetched, (union doca_data){.ptr = is_done}, &task);
  if (result != DOCA_SUCCESS) return result;
  result = doca_task_submit(doca_sync_event_task_notify_add_as_doca_task(task));
  if (result != DOCA_SUCCESS) doca_task_free(doca_sync_event_task_notify_add_as_doca_task(task));
  return result;
}

static doca_error_t submit_wait(struct doca_sync_event* event, bool* is_done) {
  struct doca_sync_event_task_wait_eq* task = NULL;
  doca_error_t result =
      doca_sync_event_task_wait_eq_alloc_init(event, 1, whole_value, (union doca_data){.ptr = is_done}, &task);
  if (result != DOCA_SUCCESS) return result;
  result = doca_task_submit(doca_sync_event_task_wait_eq_as_doca_task(task));
  if (result != DOCA_SUCCESS) doca_task_free(doca_sync_event_task_wait_eq_as_doca_task(task));
  return result;
}

// The wait is submitted first; the addition ends it.
static doca_error_t run_tasks(struct doca_pe* pe, struct doca_sync_event* event) {
  uint64_t fetched = whole_value;
  bool is_added = false;
  bool is_waited = false;
  doca_error_t result = submit_wait(event, &is_waited);
  if (result == DOCA_SUCCESS) result = submit_add(event, &fetched, &is_added);
  while (result == DOCA_SUCCESS && !(is_added && is_waited)) doca_pe_progress(pe);
  if (result == DOCA_SUCCESS) printf("tasks: %" PRIu64 ", then the wait has ended\n", fetched);
  return result;
}

static doca_error_t start_tasks(struct doca_pe* pe, struct doca_sync_event* event) {
  doca_error_t result = doca_sync_event_task_notify_add_set_conf(event, added, added, 1);
  if (result != DOCA_SUCCESS) return result;
  result = doca_sync_event_task_wait_eq_set_conf(event, waited, waited, 1);
  if (result != DOCA_SUCCESS) return result;
  struct doca_ctx* ctx = doca_sync_event_as_ctx(event);
  if (ctx == NULL) return DOCA_ERROR_BAD_STATE;
  result = doca_pe_connect_ctx(pe, ctx);
  return result == DOCA_SUCCESS ? doca_ctx_start(ctx) : result;
}

static doca_error_t use_tasks_of(struct doca_pe* pe, struct doca_sync_event* event) {
  doca_error_t result = start_tasks(pe, event);
  if (result != DOCA_SUCCESS) return result;
  result = run_tasks(pe, event);
  const doca_error_t stopped = stop_context(pe, doca_sync_event_as_ctx(event));
  DOCA_ERROR_PROPAGATE(result, stopped);
  return result;
}

static doca_error_t use_tasks(struct doca_dev* dev) {
  struct doca_sync_event* event = NULL;
  struct doca_pe* pe = NULL;
  doca_error_t result = doca_pe_create(&pe);
  if (result != DOCA_SUCCESS) return result;
  result = create_event(dev, &event);
  if (result == DOCA_SUCCESS) result = use_tasks_of(pe, event);
  if (event != NULL) {
    const doca_error_t destroyed = doca_sync_event_destroy(event);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  const doca_error_t destroyed = doca_pe_destroy(pe);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return result;
}

int main(void) {
  struct doca_dev* dev = NULL;
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = open_device(NULL, doca_sync_event_cap_task_wait_eq_is_supported, &dev);
  if (result == DOCA_SUCCESS) result = use_synchronously(dev);
  if (result == DOCA_SUCCESS) result = use_tasks(dev);
  if (dev != NULL) {
    const doca_error_t closed = doca_dev_close(dev);
    DOCA_ERROR_PROPAGATE(result, closed);
  }
  return exit_status("sync_event_local", result);
}

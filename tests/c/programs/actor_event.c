// Commands of sync events.

#include "programs/actor.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t number_of(const char* word) { return strtoull(word, NULL, 0); }

// event publisher|subscriber: a new event, of which the other side is that one; it is exported
static doca_error_t make_event(struct actor* actor, int num_words, char** words) {
  const uint8_t* blob = NULL;
  size_t length = 0;
  if (num_words != 2) return DOCA_ERROR_BAD_CONFIG;
  const bool is_remote_publisher = strcmp(words[1], "publisher") == 0;
  doca_error_t result = doca_sync_event_create(&actor->event);
  if (result != DOCA_SUCCESS) return result;
  result = is_remote_publisher ? doca_sync_event_add_publisher_location_remote_pci(actor->event)
                               : doca_sync_event_add_publisher_location_cpu(actor->event, actor->dev);
  if (result != DOCA_SUCCESS) return result;
  result = is_remote_publisher ? doca_sync_event_add_subscriber_location_cpu(actor->event, actor->dev)
                               : doca_sync_event_add_subscriber_location_remote_pci(actor->event);
  if (result != DOCA_SUCCESS) return result;
  result = doca_sync_event_start(actor->event);
  if (result != DOCA_SUCCESS) return result;
  result = doca_sync_event_export_to_remote_pci(actor->event, actor->dev, &blob, &length);
  return result == DOCA_SUCCESS ? write_all(actor, "event", blob, length) : result;
}

// import_event: the other side's, for synchronous calls
static doca_error_t import_event(struct actor* actor, int num_words, char** words) {
  uint8_t blob[1024];
  size_t length = 0;
  (void)num_words;
  (void)words;
  doca_error_t result = read_all(actor, "event", blob, sizeof blob, &length);
  if (result != DOCA_SUCCESS) return result;
  result = doca_sync_event_create_from_export(actor->dev, blob, length, &actor->event);
  return result == DOCA_SUCCESS ? doca_sync_event_start(actor->event) : result;
}

static void waited(struct doca_sync_event_task_wait_eq* task, union doca_data task_user_data,
                   union doca_data ctx_user_data) {
  struct actor* actor = task_user_data.ptr;
  (void)ctx_user_data;
  actor->status = doca_task_get_status(doca_sync_event_task_wait_eq_as_doca_task(task));
  actor->num_completed++;
  doca_task_free(doca_sync_event_task_wait_eq_as_doca_task(task));
}

// import_tasks: the other side's event, for a task that waits
static doca_error_t import_for_tasks(struct actor* actor, int num_words, char** words) {
  uint8_t blob[1024];
  size_t length = 0;
  (void)num_words;
  (void)words;
  doca_error_t result = read_all(actor, "event", blob, sizeof blob, &length);
  if (result != DOCA_SUCCESS) return result;
  result = doca_sync_event_create_from_export(actor->dev, blob, length, &actor->event);
  if (result != DOCA_SUCCESS) return result;
  actor->event_is_asynchronous = true;
  result = doca_sync_event_task_wait_eq_set_conf(actor->event, waited, waited, 1);
  if (result != DOCA_SUCCESS) return result;
  struct doca_ctx* ctx = doca_sync_event_as_ctx(actor->event);
  result = doca_pe_connect_ctx(actor->pe, ctx);
  return result == DOCA_SUCCESS ? doca_ctx_start(ctx) : result;
}

// task_eq N: a task waits until the event is N
static doca_error_t task_eq(struct actor* actor, int num_words, char** words) {
  struct doca_sync_event_task_wait_eq* task = NULL;
  const int before = actor->num_completed;
  if (num_words != 2) return DOCA_ERROR_BAD_CONFIG;
  doca_error_t result = doca_sync_event_task_wait_eq_alloc_init(actor->event, number_of(words[1]), UINT64_MAX,
                                                                (union doca_data){.ptr = actor}, &task);
  if (result != DOCA_SUCCESS) return result;
  result = doca_task_submit(doca_sync_event_task_wait_eq_as_doca_task(task));
  if (result != DOCA_SUCCESS) {
    doca_task_free(doca_sync_event_task_wait_eq_as_doca_task(task));
    return result;
  }
  while (actor->num_completed == before) doca_pe_progress(actor->pe);
  return actor->status;
}

static doca_error_t set_value(struct actor* actor, int num_words, char** words) {
  return num_words == 2 ? doca_sync_event_update_set(actor->event, number_of(words[1])) : DOCA_ERROR_BAD_CONFIG;
}

// add N: answers the value before
static doca_error_t add_value(struct actor* actor, int num_words, char** words) {
  uint64_t fetched = 0;
  if (num_words != 2) return DOCA_ERROR_BAD_CONFIG;
  const doca_error_t result = doca_sync_event_update_add(actor->event, number_of(words[1]), &fetched);
  if (result == DOCA_SUCCESS) snprintf(actor->detail, sizeof actor->detail, " %" PRIu64, fetched);
  return result;
}

static doca_error_t get_value(struct actor* actor, int num_words, char** words) {
  uint64_t value = 0;
  (void)num_words;
  (void)words;
  const doca_error_t result = doca_sync_event_get(actor->event, &value);
  if (result == DOCA_SUCCESS) snprintf(actor->detail, sizeof actor->detail, " %" PRIu64, value);
  return result;
}

// wait_gt N, wait_eq N: this thread waits
static doca_error_t wait_gt(struct actor* actor, int num_words, char** words) {
  if (num_words != 2) return DOCA_ERROR_BAD_CONFIG;
  return doca_sync_event_wait_gt_yield(actor->event, number_of(words[1]), UINT64_MAX);
}

static doca_error_t wait_eq(struct actor* actor, int num_words, char** words) {
  if (num_words != 2) return DOCA_ERROR_BAD_CONFIG;
  return doca_sync_event_wait_eq(actor->event, number_of(words[1]), UINT64_MAX);
}

static doca_error_t stop_event(struct actor* actor, int num_words, char** words) {
  (void)num_words;
  (void)words;
  return doca_sync_event_stop(actor->event);
}

void end_event(struct actor* actor) {
  if (actor->event == NULL) return;
  if (actor->event_is_asynchronous) {
    stop_until_idle(actor->pe, doca_sync_event_as_ctx(actor->event));
  } else {
    doca_sync_event_stop(actor->event);
  }
  doca_sync_event_destroy(actor->event);
}

const struct command event_commands[] = {{"event", make_event},
                                         {"import_event", import_event},
                                         {"import_tasks", import_for_tasks},
                                         {"task_eq", task_eq},
                                         {"set", set_value},
                                         {"add", add_value},
                                         {"get", get_value},
                                         {"wait_gt", wait_gt},
                                         {"wait_eq", wait_eq},
                                         {"stop_event", stop_event},
                                         {NULL, NULL}};

// Sync events in one process: doca_sync_event.h. Those of two processes stand in programs/.

#include "rig/dma_rig.h"
#include "rig/side.h"

#include <doca_sync_event.h>
#include <pthread.h>
#include <unistd.h>

static const uint64_t all_bits = UINT64_MAX;
static const union doca_data no_data = {.u64 = 0};

static struct doca_sync_event* new_event(struct doca_dev* dev) {
  struct doca_sync_event* event = NULL;
  CHECK_OK(doca_sync_event_create(&event));
  CHECK_OK(doca_sync_event_add_publisher_location_cpu(event, dev));
  CHECK_OK(doca_sync_event_add_subscriber_location_cpu(event, dev));
  return event;
}

CASE(event, counts) {
  struct doca_dev* dev = open_device(FIRST_DEVICE);
  struct doca_sync_event* event = new_event(dev);
  uint64_t value = 9;
  CHECK_OK(doca_sync_event_start(event));
  CHECK_OK(doca_sync_event_get(event, &value));
  CHECK_EQUAL(value, 0);
  CHECK_OK(doca_sync_event_update_set(event, UINT64_MAX));
  CHECK_OK(doca_sync_event_update_add(event, 3, &value));
  CHECK_EQUAL(value, UINT64_MAX);
  CHECK_OK(doca_sync_event_get(event, &value));
  CHECK_EQUAL(value, 2);
  CHECK_OK(doca_sync_event_stop(event));
  CHECK_OK(doca_sync_event_destroy(event));
  CHECK_OK(doca_dev_close(dev));
}

CASE(event, waits_that_hold_return_at_once) {
  struct doca_dev* dev = open_device(FIRST_DEVICE);
  struct doca_sync_event* event = new_event(dev);
  CHECK_OK(doca_sync_event_start(event));
  CHECK_OK(doca_sync_event_update_set(event, 0x1234));
  CHECK_OK(doca_sync_event_wait_gt(event, 0x1233, all_bits));
  CHECK_OK(doca_sync_event_wait_gt_yield(event, 0x11, 0xff));
  CHECK_OK(doca_sync_event_wait_eq(event, 0x34, 0xff));
  CHECK_OK(doca_sync_event_wait_eq_yield(event, 0x1234, all_bits));
  CHECK_OK(doca_sync_event_wait_neq(event, 0, all_bits));
  CHECK_OK(doca_sync_event_wait_neq_yield(event, 0x35, 0xff));
  CHECK_OK(doca_sync_event_stop(event));
  CHECK_OK(doca_sync_event_destroy(event));
  CHECK_OK(doca_dev_close(dev));
}

static void* set_later(void* event) {
  usleep(50000);
  CHECK_OK(doca_sync_event_update_set(event, 7));
  return NULL;
}

CASE(event, wait_ends_by_the_update_of_another_thread) {
  struct doca_dev* dev = open_device(FIRST_DEVICE);
  struct doca_sync_event* event = new_event(dev);
  pthread_t thread;
  CHECK_OK(doca_sync_event_start(event));
  CHECK(pthread_create(&thread, NULL, set_later, event) == 0);
  CHECK_OK(doca_sync_event_wait_eq_yield(event, 7, all_bits));
  pthread_join(thread, NULL);
  CHECK_OK(doca_sync_event_stop(event));
  CHECK_OK(doca_sync_event_destroy(event));
  CHECK_OK(doca_dev_close(dev));
}

CASE(event, needs_its_locations) {
  struct doca_dev* dev = open_device(FIRST_DEVICE);
  struct doca_sync_event* event = NULL;
  CHECK_OK(doca_sync_event_create(&event));
  CHECK_STATUS(doca_sync_event_start(event), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_sync_event_add_publisher_location_cpu(event, dev));
  CHECK_STATUS(doca_sync_event_add_publisher_location_cpu(event, dev), DOCA_ERROR_INVALID_VALUE);
  CHECK_STATUS(doca_sync_event_start(event), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_sync_event_add_subscriber_location_remote_pci(event));
  CHECK_OK(doca_sync_event_start(event));
  CHECK_STATUS(doca_sync_event_start(event), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_sync_event_stop(event));
  CHECK_STATUS(doca_sync_event_stop(event), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_sync_event_destroy(event));
  CHECK_OK(doca_dev_close(dev));
}

CASE(event, of_a_gpu_or_a_dpa_is_refused) {
  struct doca_sync_event* event = NULL;
  int something = 0;
  CHECK_OK(doca_sync_event_create(&event));
  // No such object can be had, so the pointers are of something else.
  CHECK(doca_sync_event_add_publisher_location_gpu(event, (struct doca_gpu*)(void*)&something) != DOCA_SUCCESS);
  CHECK(doca_sync_event_add_publisher_location_dpa(event, (struct doca_dpa*)(void*)&something) != DOCA_SUCCESS);
  CHECK(doca_sync_event_add_subscriber_location_gpu(event, (struct doca_gpu*)(void*)&something) != DOCA_SUCCESS);
  CHECK(doca_sync_event_add_subscriber_location_dpa(event, (struct doca_dpa*)(void*)&something) != DOCA_SUCCESS);
  CHECK_OK(doca_sync_event_destroy(event));
}

CASE(event, lies_in_the_programs_memory) {
  struct doca_dev* dev = open_device(FIRST_DEVICE);
  struct doca_sync_event* event = new_event(dev);
  static uint64_t word = 40;
  uint64_t value = 0;
  CHECK_OK(doca_sync_event_set_addr(event, &word));
  CHECK_OK(doca_sync_event_start(event));
  CHECK_STATUS(doca_sync_event_set_addr(event, &word), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_sync_event_update_add(event, 2, &value));
  CHECK_EQUAL(value, 40);
  CHECK_EQUAL(word, 42);
  CHECK_OK(doca_sync_event_stop(event));
  CHECK_OK(doca_sync_event_destroy(event));
  CHECK_OK(doca_dev_close(dev));
}

CASE(event, export_has_at_most_1024_bytes) {
  struct doca_dev* dev = open_device(FIRST_DEVICE);
  struct doca_sync_event* event = NULL;
  const uint8_t* blob = NULL;
  size_t length = 0;
  CHECK_OK(doca_sync_event_create(&event));
  CHECK_OK(doca_sync_event_add_publisher_location_remote_pci(event));
  CHECK_OK(doca_sync_event_add_subscriber_location_cpu(event, dev));
  CHECK_STATUS(doca_sync_event_export_to_remote_pci(event, dev, &blob, &length), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_sync_event_start(event));
  CHECK_OK(doca_sync_event_export_to_remote_pci(event, dev, &blob, &length));
  CHECK(blob != NULL && length > 0 && length <= 1024);
  CHECK_STATUS(doca_sync_event_export_to_remote_net(event, &blob, &length), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_sync_event_stop(event));
  CHECK_OK(doca_sync_event_destroy(event));
  CHECK_OK(doca_dev_close(dev));
}

// The tasks of an event, with what their callbacks have seen.
struct tasks {
  struct doca_dev* dev;
  struct doca_pe* pe;
  struct doca_sync_event* event;
  struct doca_ctx* ctx;
  int num_succeeded;
  int num_failed;
};

#define COUNTING(name)                                                                                   \
  static void name##_succeeded(struct doca_sync_event_task_##name* task, union doca_data task_user_data, \
                               union doca_data ctx_user_data) {                                          \
    struct tasks* all = ctx_user_data.ptr;                                                               \
    (void)task_user_data;                                                                                \
    all->num_succeeded++;                                                                                \
    doca_task_free(doca_sync_event_task_##name##_as_doca_task(task));                                    \
  }                                                                                                      \
  static void name##_failed(struct doca_sync_event_task_##name* task, union doca_data task_user_data,    \
                            union doca_data ctx_user_data) {                                             \
    struct tasks* all = ctx_user_data.ptr;                                                               \
    (void)task_user_data;                                                                                \
    all->num_failed++;                                                                                   \
    doca_task_free(doca_sync_event_task_##name##_as_doca_task(task));                                    \
  }

COUNTING(get)
COUNTING(notify_set)
COUNTING(notify_add)
COUNTING(wait_eq)
COUNTING(wait_neq)

static void set_up(struct tasks* all) {
  *all = (struct tasks){.dev = open_first(doca_sync_event_cap_task_wait_eq_is_supported)};
  CHECK_OK(doca_pe_create(&all->pe));
  all->event = new_event(all->dev);
  CHECK_OK(doca_sync_event_task_get_set_conf(all->event, get_succeeded, get_failed, 2));
  CHECK_OK(doca_sync_event_task_notify_set_set_conf(all->event, notify_set_succeeded, notify_set_failed, 1));
  CHECK_OK(doca_sync_event_task_notify_add_set_conf(all->event, notify_add_succeeded, notify_add_failed, 1));
  CHECK_OK(doca_sync_event_task_wait_eq_set_conf(all->event, wait_eq_succeeded, wait_eq_failed, 1));
  CHECK_OK(doca_sync_event_task_wait_neq_set_conf(all->event, wait_neq_succeeded, wait_neq_failed, 1));
  all->ctx = doca_sync_event_as_ctx(all->event);
  CHECK(all->ctx != NULL);
  CHECK_OK(doca_ctx_set_user_data(all->ctx, (union doca_data){.ptr = all}));
  CHECK_OK(doca_pe_connect_ctx(all->pe, all->ctx));
  CHECK_OK(doca_ctx_start(all->ctx));
}

static void tear_down(struct tasks* all) {
  stop_until_idle(all->pe, all->ctx);
  CHECK_OK(doca_sync_event_destroy(all->event));
  CHECK_OK(doca_pe_destroy(all->pe));
  CHECK_OK(doca_dev_close(all->dev));
}

static void progress_until(struct tasks* all, int num_completed) {
  while (all->num_succeeded + all->num_failed < num_completed) doca_pe_progress(all->pe);
}

CASE(event, tasks_change_and_read_it) {
  struct tasks all;
  struct doca_sync_event_task_notify_set* set = NULL;
  struct doca_sync_event_task_notify_add* add = NULL;
  struct doca_sync_event_task_get* get = NULL;
  uint64_t fetched = 0;
  uint64_t value = 0;
  set_up(&all);
  CHECK_OK(doca_sync_event_task_notify_set_alloc_init(all.event, 40, no_data, &set));
  CHECK_EQUAL(doca_sync_event_task_notify_set_get_set_val(set), 40);
  CHECK_OK(doca_task_submit(doca_sync_event_task_notify_set_as_doca_task(set)));
  progress_until(&all, 1);
  CHECK_OK(doca_sync_event_task_notify_add_alloc_init(all.event, 2, &fetched, no_data, &add));
  CHECK_OK(doca_task_submit(doca_sync_event_task_notify_add_as_doca_task(add)));
  progress_until(&all, 2);
  CHECK_EQUAL(fetched, 40);
  CHECK_OK(doca_sync_event_task_get_alloc_init(all.event, &value, no_data, &get));
  CHECK(doca_sync_event_task_get_get_ret_val_ptr(get) == &value);
  CHECK_OK(doca_task_submit(doca_sync_event_task_get_as_doca_task(get)));
  progress_until(&all, 3);
  CHECK_EQUAL(value, 42);
  CHECK_EQUAL(all.num_failed, 0);
  tear_down(&all);
}

CASE(event, tasks_wait) {
  struct tasks all;
  struct doca_sync_event_task_wait_eq* equal = NULL;
  struct doca_sync_event_task_wait_neq* other = NULL;
  struct doca_sync_event_task_notify_set* set = NULL;
  set_up(&all);
  CHECK_OK(doca_sync_event_task_wait_eq_alloc_init(all.event, 5, 0xff, no_data, &equal));
  CHECK_OK(doca_sync_event_task_wait_neq_alloc_init(all.event, 0, all_bits, no_data, &other));
  CHECK_OK(doca_task_submit(doca_sync_event_task_wait_eq_as_doca_task(equal)));
  CHECK_OK(doca_task_submit(doca_sync_event_task_wait_neq_as_doca_task(other)));
  for (int i = 0; i < 100; i++) CHECK_EQUAL(doca_pe_progress(all.pe), 0);
  CHECK_OK(doca_sync_event_task_notify_set_alloc_init(all.event, 0x105, no_data, &set));
  CHECK_OK(doca_task_submit(doca_sync_event_task_notify_set_as_doca_task(set)));
  progress_until(&all, 3);
  CHECK_EQUAL(all.num_succeeded, 3);
  tear_down(&all);
}

CASE(event, stop_ends_waiting_tasks) {
  struct tasks all;
  struct doca_sync_event_task_wait_eq* wait = NULL;
  set_up(&all);
  CHECK_OK(doca_sync_event_task_wait_eq_alloc_init(all.event, 5, all_bits, no_data, &wait));
  CHECK_OK(doca_task_submit(doca_sync_event_task_wait_eq_as_doca_task(wait)));
  tear_down(&all);
  CHECK_EQUAL(all.num_failed, 1);
}

CASE(event, exhausted_pool_has_no_memory) {
  struct tasks all;
  struct doca_sync_event_task_get* gets[2];
  struct doca_sync_event_task_get* more = NULL;
  uint64_t value = 0;
  set_up(&all);
  for (int i = 0; i < 2; i++) CHECK_OK(doca_sync_event_task_get_alloc_init(all.event, &value, no_data, &gets[i]));
  CHECK_STATUS(doca_sync_event_task_get_alloc_init(all.event, &value, no_data, &more), DOCA_ERROR_NO_MEMORY);
  for (int i = 0; i < 2; i++) doca_task_free(doca_sync_event_task_get_as_doca_task(gets[i]));
  tear_down(&all);
}

// Contexts of other libraries answer BAD_STATE.
CASE(event, that_runs_is_not_configured) {
  struct tasks all;
  set_up(&all);
  CHECK_STATUS(doca_sync_event_task_get_set_conf(all.event, get_succeeded, get_failed, 4), DOCA_ERROR_NOT_PERMITTED);
  tear_down(&all);
}

CASE(event, has_one_mode) {
  struct tasks all;
  uint64_t value = 0;
  set_up(&all);
  CHECK(doca_sync_event_start(all.event) != DOCA_SUCCESS);
  CHECK(doca_sync_event_get(all.event, &value) != DOCA_SUCCESS);
  CHECK(doca_sync_event_stop(all.event) != DOCA_SUCCESS);
  struct doca_sync_event* other = new_event(all.dev);
  CHECK_OK(doca_sync_event_start(other));
  CHECK(doca_sync_event_as_ctx(other) == NULL);
  CHECK_OK(doca_sync_event_stop(other));
  CHECK_OK(doca_sync_event_destroy(other));
  tear_down(&all);
}

CASE(event, masks_of_tasks_are_whole_bytes) {
  struct tasks all;
  struct doca_sync_event_task_wait_eq* wait = NULL;
  set_up(&all);
  CHECK_OK(doca_sync_event_task_wait_eq_alloc_init(all.event, 0, 0x7, no_data, &wait));
  struct doca_task* task = doca_sync_event_task_wait_eq_as_doca_task(wait);
  CHECK_STATUS(doca_task_try_submit(task), DOCA_ERROR_INVALID_VALUE);
  doca_sync_event_task_wait_eq_set_mask(wait, 0xffff00);
  CHECK_EQUAL(doca_sync_event_task_wait_eq_get_mask(wait), 0xffff00);
  CHECK_EQUAL(doca_sync_event_task_wait_eq_get_wait_val(wait), 0);
  CHECK_OK(doca_task_try_submit(task));
  progress_until(&all, 1);
  CHECK_EQUAL(all.num_succeeded, 1);
  tear_down(&all);
}

CASE(event, capabilities_are_answered) {
  struct doca_dev* dev = open_device(FIRST_DEVICE);
  const struct doca_devinfo* info = doca_dev_as_devinfo(dev);
  CHECK_OK(doca_sync_event_cap_task_get_is_supported(info));
  CHECK_OK(doca_sync_event_cap_is_export_to_remote_pci_supported(info));
  CHECK_STATUS(doca_sync_event_cap_is_export_to_gpu_supported(info), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_sync_event_cap_task_get_is_supported(NULL), DOCA_ERROR_INVALID_VALUE);
  CHECK_OK(doca_dev_close(dev));
}

#include "rig/case.h"
#include "rig/device.h"
#include "rig/stage.h"

#include <doca_sync_event.h>
#include <string.h>

/// Where a program ran: what the callbacks have seen, as the user data of the context.
struct seen {
  int successes;
  int failures;
  doca_error_t status;
};

#define CALLBACKS_OF(task)                                                                          \
  static void task##_succeeded(struct doca_sync_event_task_##task* done, union doca_data task_data, \
                               union doca_data ctx_data) {                                          \
    struct seen* seen = ctx_data.ptr;                                                               \
    (void)task_data;                                                                                \
    ++seen->successes;                                                                              \
    seen->status = doca_task_get_status(doca_sync_event_task_##task##_as_doca_task(done));          \
  }                                                                                                 \
  static void task##_failed(struct doca_sync_event_task_##task* done, union doca_data task_data,    \
                            union doca_data ctx_data) {                                             \
    struct seen* seen = ctx_data.ptr;                                                               \
    (void)task_data;                                                                                \
    ++seen->failures;                                                                               \
    seen->status = doca_task_get_status(doca_sync_event_task_##task##_as_doca_task(done));          \
    doca_task_free(doca_sync_event_task_##task##_as_doca_task(done));                               \
  }

CALLBACKS_OF(get)
CALLBACKS_OF(notify_set)
CALLBACKS_OF(notify_add)
CALLBACKS_OF(wait_eq)
CALLBACKS_OF(wait_neq)
CALLBACKS_OF(wait_gt)

static const union doca_data none = {.u64 = 0};

static struct doca_sync_event* make_event(struct doca_dev* dev) {
  struct doca_sync_event* event = NULL;
  CHECK_OK(doca_sync_event_create(&event));
  CHECK_OK(doca_sync_event_add_publisher_location_cpu(event, dev));
  CHECK_OK(doca_sync_event_add_subscriber_location_cpu(event, dev));
  return event;
}

CASE(sync_event, a_synchronous_event_counts) {
  struct doca_dev* dev = open_first_device();
  struct doca_sync_event* event = make_event(dev);
  CHECK_OK(doca_sync_event_start(event));
  uint64_t value = 1;
  CHECK_OK(doca_sync_event_get(event, &value));
  CHECK(value == 0);
  CHECK_OK(doca_sync_event_update_set(event, 5));
  CHECK_OK(doca_sync_event_update_add(event, UINT64_MAX, &value));
  CHECK(value == 5);
  CHECK_OK(doca_sync_event_get(event, &value));
  CHECK(value == 4);
  CHECK_OK(doca_sync_event_wait_gt(event, 3, UINT64_MAX));
  CHECK_OK(doca_sync_event_wait_gt_yield(event, 3, 0xff));
  CHECK_OK(doca_sync_event_wait_eq(event, 4, UINT64_MAX));
  CHECK_OK(doca_sync_event_wait_eq_yield(event, 0, 0xff00));
  CHECK_OK(doca_sync_event_wait_neq(event, 5, UINT64_MAX));
  CHECK_OK(doca_sync_event_wait_neq_yield(event, 5, UINT64_MAX));
  CHECK_OK(doca_sync_event_stop(event));
  CHECK_OK(doca_sync_event_destroy(event));
  CHECK_OK(doca_dev_close(dev));
}

CASE(sync_event, the_counter_lies_where_the_program_says) {
  static uint64_t word = 11;
  struct doca_dev* dev = open_first_device();
  struct doca_sync_event* event = make_event(dev);
  CHECK_INVALID(doca_sync_event_set_addr(event, NULL));
  CHECK_OK(doca_sync_event_set_addr(event, &word));
  CHECK_OK(doca_sync_event_start(event));
  CHECK_STATUS(doca_sync_event_set_addr(event, &word), DOCA_ERROR_BAD_STATE);
  uint64_t value = 0;
  CHECK_OK(doca_sync_event_get(event, &value));
  CHECK(value == 11);
  CHECK_OK(doca_sync_event_update_set(event, 12));
  CHECK(word == 12);
  CHECK_OK(doca_sync_event_stop(event));
  CHECK_OK(doca_sync_event_destroy(event));
  CHECK_OK(doca_dev_close(dev));
}

CASE(sync_event, the_counter_may_lie_in_a_buf) {
  struct stage stage;
  stage_open(&stage, open_first_device(), 64);
  struct doca_buf* buf = stage_data(&stage, 8, 8);
  struct doca_sync_event* event = make_event(stage.dev);
  CHECK_INVALID(doca_sync_event_set_doca_buf(event, NULL));
  CHECK_STATUS(doca_sync_event_set_doca_buf(event, buf), DOCA_ERROR_NOT_PERMITTED);
  CHECK_OK(doca_sync_event_destroy(event));
  give_back(buf);
  CHECK_OK(doca_mmap_stop(stage.mmap));
  CHECK_OK(doca_mmap_set_permissions(stage.mmap, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ |
                                                     DOCA_ACCESS_FLAG_RDMA_WRITE | DOCA_ACCESS_FLAG_RDMA_ATOMIC));
  CHECK_OK(doca_mmap_start(stage.mmap));
  buf = stage_data(&stage, 8, 8);
  event = make_event(stage.dev);
  CHECK_OK(doca_sync_event_set_doca_buf(event, buf));
  CHECK_OK(doca_sync_event_start(event));
  CHECK_OK(doca_sync_event_update_set(event, 9));
  uint64_t word = 0;
  memcpy(&word, stage.memory + 8, sizeof word);
  CHECK(word == 9);
  CHECK_OK(doca_sync_event_stop(event));
  CHECK_OK(doca_sync_event_destroy(event));
  give_back(buf);
  stage_close(&stage);
}

CASE(sync_event, an_event_has_one_mode_and_one_life) {
  struct doca_dev* dev = open_first_device();
  struct doca_sync_event* event = make_event(dev);
  uint64_t value = 0;
  CHECK_STATUS(doca_sync_event_get(event, &value), DOCA_ERROR_BAD_STATE);
  CHECK_INVALID(doca_sync_event_stop(event));
  CHECK_OK(doca_sync_event_start(event));
  CHECK_INVALID(doca_sync_event_start(event));
  CHECK(doca_sync_event_as_ctx(event) == NULL);
  CHECK_INVALID(doca_sync_event_add_publisher_location_cpu(event, dev));
  CHECK_STATUS(doca_sync_event_task_get_set_conf(event, get_succeeded, get_failed, 1), DOCA_ERROR_NOT_PERMITTED);
  struct doca_sync_event_task_get* task = NULL;
  CHECK_STATUS(doca_sync_event_task_get_alloc_init(event, &value, none, &task), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_sync_event_stop(event));
  CHECK_STATUS(doca_sync_event_get(event, &value), DOCA_ERROR_BAD_STATE);
  CHECK_STATUS(doca_sync_event_wait_eq(event, 1, 1), DOCA_ERROR_BAD_STATE);
  CHECK_INVALID(doca_sync_event_start(event));
  CHECK_OK(doca_sync_event_destroy(event));
  CHECK_INVALID(doca_sync_event_destroy(event));
  CHECK_INVALID(doca_sync_event_get(event, &value));
  CHECK_OK(doca_dev_close(dev));
}

CASE(sync_event, an_event_needs_both_locations) {
  struct doca_dev* dev = open_first_device();
  struct doca_sync_event* event = NULL;
  CHECK_OK(doca_sync_event_create(&event));
  CHECK_INVALID(doca_sync_event_start(event));
  CHECK(doca_sync_event_as_ctx(event) == NULL);
  CHECK_OK(doca_sync_event_add_publisher_location_cpu(event, dev));
  CHECK_INVALID(doca_sync_event_add_publisher_location_cpu(event, dev));
  CHECK_INVALID(doca_sync_event_add_publisher_location_remote_pci(event));
  CHECK_INVALID(doca_sync_event_start(event));
  CHECK_OK(doca_sync_event_add_subscriber_location_remote_pci(event));
  CHECK_OK(doca_sync_event_start(event));
  CHECK_OK(doca_sync_event_stop(event));
  CHECK_OK(doca_sync_event_destroy(event));
  CHECK_OK(doca_dev_close(dev));
}

CASE(sync_event, an_event_is_not_a_context_before_as_ctx) {
  struct doca_dev* dev = open_first_device();
  struct doca_sync_event* event = make_event(dev);
  struct doca_ctx* ctx = (struct doca_ctx*)(void*)event;
  CHECK_INVALID(doca_ctx_start(ctx));
  CHECK_INVALID(doca_ctx_stop(ctx));
  CHECK(doca_sync_event_as_ctx(event) == ctx);
  CHECK_OK(doca_ctx_stop(ctx));
  CHECK_OK(doca_sync_event_destroy(event));
  CHECK_OK(doca_dev_close(dev));
}

CASE(sync_event, an_export_is_small_and_stays) {
  struct doca_dev* dev = open_first_device();
  const struct doca_devinfo* info = doca_dev_as_devinfo(dev);
  CHECK_OK(doca_sync_event_cap_is_export_to_remote_pci_supported(info));
  struct doca_sync_event* event = NULL;
  CHECK_OK(doca_sync_event_create(&event));
  CHECK_OK(doca_sync_event_add_publisher_location_remote_pci(event));
  CHECK_OK(doca_sync_event_add_subscriber_location_cpu(event, dev));
  const uint8_t* data = NULL;
  const uint8_t* again = NULL;
  size_t size = 0;
  CHECK_INVALID(doca_sync_event_export_to_remote_pci(event, dev, &data, &size));
  CHECK_OK(doca_sync_event_start(event));
  CHECK_INVALID(doca_sync_event_export_to_remote_net(event, &data, &size));
  CHECK_INVALID(doca_sync_event_export_to_remote_pci(event, dev, NULL, &size));
  CHECK_OK(doca_sync_event_export_to_remote_pci(event, dev, &data, &size));
  CHECK(size > 0 && size <= 1024);
  uint8_t copy[1024];
  memcpy(copy, data, size);
  CHECK_OK(doca_sync_event_export_to_remote_pci(event, dev, &again, &size));
  CHECK(memcmp(copy, data, size) == 0);
  CHECK_OK(doca_sync_event_stop(event));
  CHECK_INVALID(doca_sync_event_export_to_remote_pci(event, dev, &data, &size));
  CHECK_OK(doca_sync_event_destroy(event));
  CHECK_OK(doca_dev_close(dev));
}

CASE(sync_event, a_damaged_description_is_invalid) {
  struct doca_dev* dev = open_first_device();
  const uint8_t data[64] = {0};
  struct doca_sync_event* event = NULL;
  struct doca_sync_event_remote_net* remote = NULL;
  CHECK_INVALID(doca_sync_event_create_from_export(dev, data, sizeof data, &event));
  CHECK_INVALID(doca_sync_event_create_from_export(dev, NULL, sizeof data, &event));
  CHECK_INVALID(doca_sync_event_create_from_export(NULL, data, sizeof data, &event));
  CHECK_INVALID(doca_sync_event_remote_net_create_from_export(dev, data, sizeof data, &remote));
  CHECK_INVALID(doca_sync_event_remote_net_destroy(NULL));
  CHECK(event == NULL && remote == NULL);
  CHECK_OK(doca_dev_close(dev));
}

/// An event whose tasks were configured before it became a context, and after.
static struct doca_sync_event* run_event(struct stage* stage, struct seen* seen) {
  memset(seen, 0, sizeof *seen);
  stage_open(stage, open_first_device(), 64);
  struct doca_sync_event* event = NULL;
  CHECK_OK(doca_sync_event_create(&event));
  CHECK_OK(doca_sync_event_task_get_set_conf(event, get_succeeded, get_failed, 1));
  CHECK_OK(doca_sync_event_add_publisher_location_cpu(event, stage->dev));
  CHECK_OK(doca_sync_event_add_subscriber_location_cpu(event, stage->dev));
  CHECK_OK(doca_sync_event_task_notify_set_set_conf(event, notify_set_succeeded, notify_set_failed, 1));
  CHECK_OK(doca_sync_event_task_notify_add_set_conf(event, notify_add_succeeded, notify_add_failed, 1));
  struct doca_ctx* ctx = doca_sync_event_as_ctx(event);
  CHECK(ctx != NULL && doca_sync_event_as_ctx(event) == ctx);
  CHECK_STATUS(doca_sync_event_start(event), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_sync_event_task_wait_eq_set_conf(event, wait_eq_succeeded, wait_eq_failed, 1));
  CHECK_OK(doca_sync_event_task_wait_neq_set_conf(event, wait_neq_succeeded, wait_neq_failed, 1));
  CHECK_OK(doca_sync_event_task_wait_gt_set_conf(event, wait_gt_succeeded, wait_gt_failed, 1));
  CHECK_OK(doca_ctx_set_user_data(ctx, (union doca_data){.ptr = seen}));
  stage_start(stage, ctx);
  return event;
}

static void end_event(struct stage* stage, struct doca_sync_event* event) {
  stage_stop(stage, doca_sync_event_as_ctx(event));
  CHECK_OK(doca_sync_event_destroy(event));
  stage_close(stage);
}

CASE(sync_event, tasks_read_and_change_an_asynchronous_event) {
  struct stage stage;
  struct seen seen;
  struct doca_sync_event* event = run_event(&stage, &seen);
  uint64_t value = 0;
  uint64_t fetched = 0;
  struct doca_sync_event_task_notify_set* set = NULL;
  struct doca_sync_event_task_notify_add* add = NULL;
  struct doca_sync_event_task_get* get = NULL;
  struct doca_sync_event_task_get* other = NULL;
  CHECK_OK(doca_sync_event_task_notify_set_alloc_init(event, 40, none, &set));
  CHECK_OK(doca_sync_event_task_notify_add_alloc_init(event, 1, &fetched, none, &add));
  CHECK_OK(doca_sync_event_task_get_alloc_init(event, &value, none, &get));
  CHECK_STATUS(doca_sync_event_task_get_alloc_init(event, &value, none, &other), DOCA_ERROR_NO_MEMORY);
  CHECK(doca_sync_event_task_get_get_ret_val_ptr(get) == &value);
  CHECK(doca_sync_event_task_notify_add_get_fetched_val_ptr(add) == &fetched);
  CHECK(doca_sync_event_task_notify_set_get_set_val(set) == 40);
  doca_sync_event_task_notify_add_set_inc_val(add, 2);
  CHECK(doca_sync_event_task_notify_add_get_inc_val(add) == 2);
  CHECK_OK(doca_task_submit(doca_sync_event_task_notify_set_as_doca_task(set)));
  stage_progress_until(&stage, &seen.successes, 1);
  CHECK_OK(doca_task_submit(doca_sync_event_task_notify_add_as_doca_task(add)));
  stage_progress_until(&stage, &seen.successes, 2);
  CHECK_OK(doca_task_submit(doca_sync_event_task_get_as_doca_task(get)));
  stage_progress_until(&stage, &seen.successes, 3);
  CHECK(fetched == 40 && value == 42);
  CHECK_STATUS(doca_sync_event_get(event, &value), DOCA_ERROR_BAD_STATE);
  doca_task_free(doca_sync_event_task_notify_set_as_doca_task(set));
  doca_task_free(doca_sync_event_task_notify_add_as_doca_task(add));
  doca_task_free(doca_sync_event_task_get_as_doca_task(get));
  end_event(&stage, event);
}

CASE(sync_event, waits_end_when_the_value_comes) {
  struct stage stage;
  struct seen seen;
  struct doca_sync_event* event = run_event(&stage, &seen);
  struct doca_sync_event_task_wait_eq* equal = NULL;
  struct doca_sync_event_task_wait_neq* unequal = NULL;
  struct doca_sync_event_task_wait_gt* greater = NULL;
  struct doca_sync_event_task_notify_set* set = NULL;
  CHECK_OK(doca_sync_event_task_wait_eq_alloc_init(event, 3, UINT64_MAX, none, &equal));
  CHECK_OK(doca_sync_event_task_wait_neq_alloc_init(event, 1, UINT64_MAX, none, &unequal));
  CHECK_OK(doca_sync_event_task_wait_gt_alloc_init(event, 1, 0xff, none, &greater));
  CHECK_OK(doca_sync_event_task_notify_set_alloc_init(event, 3, none, &set));
  doca_sync_event_task_wait_neq_set_wait_val(unequal, 0);
  CHECK(doca_sync_event_task_wait_neq_get_wait_val(unequal) == 0);
  doca_sync_event_task_wait_neq_set_mask(unequal, 0xff);
  CHECK(doca_sync_event_task_wait_neq_get_mask(unequal) == 0xff);
  CHECK_OK(doca_task_submit(doca_sync_event_task_wait_eq_as_doca_task(equal)));
  CHECK_OK(doca_task_submit(doca_sync_event_task_wait_neq_as_doca_task(unequal)));
  CHECK_OK(doca_task_submit(doca_sync_event_task_wait_gt_as_doca_task(greater)));
  for (int i = 0; i < 100; ++i) {
    (void)doca_pe_progress(stage.pe);
  }
  CHECK(seen.successes == 0);
  CHECK_OK(doca_task_submit(doca_sync_event_task_notify_set_as_doca_task(set)));
  stage_progress_until(&stage, &seen.successes, 4);
  doca_task_free(doca_sync_event_task_wait_eq_as_doca_task(equal));
  doca_task_free(doca_sync_event_task_wait_neq_as_doca_task(unequal));
  doca_task_free(doca_sync_event_task_wait_gt_as_doca_task(greater));
  doca_task_free(doca_sync_event_task_notify_set_as_doca_task(set));
  end_event(&stage, event);
}

CASE(sync_event, a_mask_with_a_gap_is_refused) {
  struct stage stage;
  struct seen seen;
  struct doca_sync_event* event = run_event(&stage, &seen);
  struct doca_sync_event_task_wait_eq* task = NULL;
  CHECK_OK(doca_sync_event_task_wait_eq_alloc_init(event, 1, 0xff00ff, none, &task));
  CHECK_INVALID(doca_task_try_submit(doca_sync_event_task_wait_eq_as_doca_task(task)));
  doca_task_free(doca_sync_event_task_wait_eq_as_doca_task(task));
  end_event(&stage, event);
}

CASE(sync_event, stopping_ends_waits_by_their_error_callbacks) {
  struct stage stage;
  struct seen seen;
  struct doca_sync_event* event = run_event(&stage, &seen);
  struct doca_sync_event_task_wait_eq* task = NULL;
  CHECK_OK(doca_sync_event_task_wait_eq_alloc_init(event, 1, UINT64_MAX, none, &task));
  CHECK_OK(doca_task_submit(doca_sync_event_task_wait_eq_as_doca_task(task)));
  CHECK_STATUS(doca_sync_event_destroy(event), DOCA_ERROR_IN_USE);
  stage_stop(&stage, doca_sync_event_as_ctx(event));
  CHECK(seen.failures == 1 && seen.status == DOCA_ERROR_SHUTDOWN);
  CHECK_STATUS(doca_ctx_start(doca_sync_event_as_ctx(event)), DOCA_ERROR_BAD_STATE);
  end_event(&stage, event);
}

CASE(sync_event, confs_are_refused_unless_idle) {
  struct stage stage;
  struct seen seen;
  struct doca_sync_event* event = run_event(&stage, &seen);
  CHECK_STATUS(doca_sync_event_task_get_set_conf(event, get_succeeded, get_failed, 1), DOCA_ERROR_NOT_PERMITTED);
  end_event(&stage, event);
  struct doca_dev* dev = open_first_device();
  event = make_event(dev);
  CHECK_INVALID(doca_sync_event_task_get_set_conf(event, get_succeeded, get_failed, 0));
  CHECK_INVALID(doca_sync_event_task_get_set_conf(event, get_succeeded, get_failed, UINT32_MAX));
  CHECK_INVALID(doca_sync_event_task_get_set_conf(event, NULL, get_failed, 1));
  CHECK_OK(doca_sync_event_destroy(event));
  CHECK_OK(doca_dev_close(dev));
}

CASE(sync_event, processors_other_than_the_cpu_are_not_supported) {
  struct doca_dev* dev = open_first_device();
  const struct doca_devinfo* info = doca_dev_as_devinfo(dev);
  struct doca_sync_event* event = make_event(dev);
  CHECK_STATUS(doca_sync_event_cap_is_export_to_dpa_supported(info), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_sync_event_cap_is_export_to_gpu_supported(info), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_sync_event_cap_remote_net_is_export_to_dpa_supported(info), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_sync_event_cap_remote_net_is_export_to_gpu_supported(info), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_sync_event_add_publisher_location_gpu(event, NULL), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_sync_event_add_subscriber_location_gpu(event, NULL), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_sync_event_add_publisher_location_dpa(event, NULL), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_sync_event_add_subscriber_location_dpa(event, NULL), DOCA_ERROR_NOT_SUPPORTED);
  doca_gpu_dev_sync_event_t handle = 0;
  CHECK_STATUS(doca_sync_event_get_gpu_handle(event, NULL, &handle), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_sync_event_get_dpa_handle(event, NULL, &handle), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_OK(doca_sync_event_destroy(event));
  CHECK_OK(doca_dev_close(dev));
}

CASE(sync_event, capabilities_answer_by_device) {
  struct doca_dev* dev = open_first_device();
  const struct doca_devinfo* info = doca_dev_as_devinfo(dev);
  CHECK_OK(doca_sync_event_cap_task_get_is_supported(info));
  CHECK_OK(doca_sync_event_cap_task_notify_set_is_supported(info));
  CHECK_OK(doca_sync_event_cap_task_notify_add_is_supported(info));
  CHECK_OK(doca_sync_event_cap_task_wait_eq_is_supported(info));
  CHECK_OK(doca_sync_event_cap_is_create_from_export_supported(info));
  CHECK_INVALID(doca_sync_event_cap_task_get_is_supported(NULL));
  CHECK_INVALID(doca_sync_event_cap_is_export_to_remote_net_supported(NULL));
  CHECK_OK(doca_dev_close(dev));
}

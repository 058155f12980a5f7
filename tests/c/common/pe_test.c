#include "rig/case.h"

#include <doca_ctx.h>
#include <doca_pe.h>
#include <poll.h>

CASE(pe, an_idle_engine_has_nothing_to_do) {
  struct doca_pe* pe = NULL;
  size_t count = 1;
  doca_notification_handle_t handle = doca_event_invalid_handle;
  CHECK_OK(doca_pe_create(&pe));
  CHECK(doca_pe_progress(pe) == 0);
  CHECK_OK(doca_pe_get_num_inflight_tasks(pe, &count));
  CHECK(count == 0);
  CHECK_OK(doca_pe_get_notification_handle(pe, &handle));
  CHECK_OK(doca_pe_request_notification(pe));
  struct pollfd descriptor = {.fd = handle, .events = POLLIN};
  CHECK(poll(&descriptor, 1, 0) == 0);
  CHECK_OK(doca_pe_clear_notification(pe, 0));
  CHECK_STATUS(doca_pe_set_notification_handle(pe, handle, (union doca_data){.u64 = 0}), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_OK(doca_pe_set_event_mode(pe, DOCA_PE_EVENT_PROGRESS_ALL));
  CHECK_INVALID(doca_pe_set_event_mode(pe, (enum doca_pe_event_mode)7));
  CHECK_OK(doca_pe_destroy(pe));
}

CASE(pe, a_destroyed_engine_is_recognised) {
  struct doca_pe* pe = NULL;
  size_t count = 0;
  CHECK_OK(doca_pe_create(&pe));
  CHECK_OK(doca_pe_destroy(pe));
  CHECK_INVALID(doca_pe_destroy(pe));
  CHECK(doca_pe_progress(pe) == 0);
  CHECK_INVALID(doca_pe_request_notification(pe));
  CHECK_INVALID(doca_pe_get_num_inflight_tasks(pe, &count));
}

CASE(pe, null_is_an_invalid_value) {
  struct doca_pe* pe = NULL;
  CHECK_INVALID(doca_pe_create(NULL));
  CHECK_INVALID(doca_pe_destroy(NULL));
  CHECK(doca_pe_progress(NULL) == 0);
  CHECK_OK(doca_pe_create(&pe));
  CHECK_INVALID(doca_pe_connect_ctx(pe, NULL));
  CHECK_INVALID(doca_pe_connect_ctx(pe, (struct doca_ctx*)(void*)pe));
  CHECK_OK(doca_pe_destroy(pe));
}

CASE(task, null_is_an_invalid_value) {
  CHECK_INVALID(doca_task_submit(NULL));
  CHECK_INVALID(doca_task_try_submit(NULL));
  CHECK_INVALID(doca_task_submit_ex(NULL, DOCA_TASK_SUBMIT_FLAG_FLUSH));
  CHECK_INVALID(doca_task_get_status(NULL));
  CHECK(doca_task_get_ctx(NULL) == NULL);
  doca_task_free(NULL);
}

CASE(ctx, null_is_an_invalid_value) {
  enum doca_ctx_states state = DOCA_CTX_STATE_IDLE;
  CHECK_INVALID(doca_ctx_start(NULL));
  CHECK_INVALID(doca_ctx_stop(NULL));
  CHECK_INVALID(doca_ctx_get_state(NULL, &state));
  CHECK_INVALID(doca_ctx_set_state_changed_cb(NULL, NULL));
  doca_ctx_flush_tasks(NULL);
}

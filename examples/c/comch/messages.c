#include "messages.h"

#include <doca_log.h>
#include <time.h>

DOCA_LOG_REGISTER(COMCH::MESSAGES);

doca_error_t progress_until(struct doca_pe* pe, const bool* is_done) {
  const struct timespec pause = {.tv_nsec = 10000};
  const time_t end = time(NULL) + patience;
  while (!*is_done) {
    if (time(NULL) > end) return DOCA_ERROR_TIME_OUT;
    if (doca_pe_progress(pe) == 0) nanosleep(&pause, NULL);
  }
  return DOCA_SUCCESS;
}

void message_sent(struct doca_comch_task_send* task, union doca_data task_user_data, union doca_data ctx_user_data) {
  (void)task_user_data;
  (void)ctx_user_data;
  doca_task_free(doca_comch_task_send_as_task(task));
}

void message_failed(struct doca_comch_task_send* task, union doca_data task_user_data, union doca_data ctx_user_data) {
  (void)task_user_data;
  (void)ctx_user_data;
  const doca_error_t result = doca_task_get_status(doca_comch_task_send_as_task(task));
  DOCA_LOG_ERR("A message was not sent: %s", doca_error_get_descr(result));
  doca_task_free(doca_comch_task_send_as_task(task));
}

doca_error_t submit(struct doca_comch_task_send* task) {
  const doca_error_t result = doca_task_submit(doca_comch_task_send_as_task(task));
  if (result != DOCA_SUCCESS) doca_task_free(doca_comch_task_send_as_task(task));
  return result;
}

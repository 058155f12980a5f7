// What both ends have in common: the name by which they meet, and waiting.
#ifndef EXAMPLES_MESSAGES_H_
#define EXAMPLES_MESSAGES_H_

#include <doca_comch.h>
#include <doca_error.h>
#include <doca_pe.h>
#include <stdbool.h>

#define DEFAULT_NAME "examples"

enum { num_messages = 5, num_send_tasks = 16, patience = 30 };  // patience: seconds

// Progresses the engine until *is_done, else DOCA_ERROR_TIME_OUT.
doca_error_t progress_until(struct doca_pe* pe, const bool* is_done);

// The callbacks of tasks: they free the task. The message was copied when it was submitted.
void message_sent(struct doca_comch_task_send* task, union doca_data task_user_data, union doca_data ctx_user_data);
void message_failed(struct doca_comch_task_send* task, union doca_data task_user_data, union doca_data ctx_user_data);

// Submits a task that one of the functions doca_comch_*_task_send_alloc_init() has given; frees it when it cannot.
doca_error_t submit(struct doca_comch_task_send* task);

#endif

/// Progress engines, which deliver the completions of their contexts, and what all tasks have in common.
///
/// An engine belongs to the first thread that uses it, with its contexts, their tasks and the bufs of these. In another
/// thread doca_pe_connect_ctx(), doca_pe_set_event_mode() and the functions that submit answer NOT_PERMITTED, and
/// doca_pe_progress() does nothing. The other functions do not look at the thread, and their behaviour is undefined in
/// another one, except that a library built with checks (PYDOCA_CHECKS) refuses doca_task_free() there.
///
/// Besides what is said at each function: INVALID_VALUE for NULL, for an engine that was destroyed and for an object of
/// another kind in its place, and for a task that was freed while its context still runs. An object of another kind in
/// the place of a task is undefined behaviour.
#ifndef DOCA_PE_H_
#define DOCA_PE_H_

#include <doca_build_config.h>
#include <doca_compat.h>
#include <doca_error.h>
#include <doca_types.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_ctx;
struct doca_pe;
struct doca_task;
struct doca_task_batch;  ///< tasks of one kind that are submitted together; no library here has them

/// SELECTIVE, the default: doca_pe_clear_notification() is needed after each wake-up. ALL: requesting clears.
enum doca_pe_event_mode {
  DOCA_PE_EVENT_PROGRESS_SELECTIVE = 0,
  DOCA_PE_EVENT_PROGRESS_ALL = 1,
  // The reference leaves open which prefix they have, so both compile.
  DOCA_PE_EVENT_MODE_PROGRESS_SELECTIVE = 0,
  DOCA_PE_EVENT_MODE_PROGRESS_ALL = 1
};

/// A bit mask.
enum doca_task_submit_flag {
  DOCA_TASK_SUBMIT_FLAG_NONE = 0,             ///< the task may stay unposted until the next flush
  DOCA_TASK_SUBMIT_FLAG_FLUSH = 1,            ///< post it, and every one before it
  DOCA_TASK_SUBMIT_FLAG_OPTIMIZE_REPORTS = 2  ///< its completion may come together with a later one
};

enum doca_task_batch_max_tasks_number {
  DOCA_TASK_BATCH_MAX_TASKS_NUMBER_16 = 0,
  DOCA_TASK_BATCH_MAX_TASKS_NUMBER_32 = 1,
  DOCA_TASK_BATCH_MAX_TASKS_NUMBER_64 = 2,
  DOCA_TASK_BATCH_MAX_TASKS_NUMBER_128 = 3
};

enum doca_event_batch_events_number {
  DOCA_EVENT_BATCH_EVENTS_NUMBER_1 = 0,
  DOCA_EVENT_BATCH_EVENTS_NUMBER_2 = 1,
  DOCA_EVENT_BATCH_EVENTS_NUMBER_4 = 2,
  DOCA_EVENT_BATCH_EVENTS_NUMBER_8 = 3,
  DOCA_EVENT_BATCH_EVENTS_NUMBER_16 = 4,
  DOCA_EVENT_BATCH_EVENTS_NUMBER_32 = 5,
  DOCA_EVENT_BATCH_EVENTS_NUMBER_64 = 6,
  DOCA_EVENT_BATCH_EVENTS_NUMBER_128 = 7
};

/// Called by doca_pe_progress() when a task has completed, with its user data and its context's. It may free and submit
/// tasks, and stop the context.
typedef void (*doca_task_completion_cb_t)(struct doca_task* task, union doca_data task_user_data,
                                          union doca_data ctx_user_data);

DOCA_STABLE doca_error_t doca_pe_create(struct doca_pe** pe);
/// IN_USE until every context that was connected is destroyed.
DOCA_STABLE doca_error_t doca_pe_destroy(struct doca_pe* pe);
/// BAD_STATE unless the context is idle, NOT_PERMITTED when it has an engine already.
DOCA_STABLE doca_error_t doca_pe_connect_ctx(struct doca_pe* pe, struct doca_ctx* ctx);
/// Handles at most one completion, event or step: 1 when something advanced, else 0. Callbacks run in it; it must not
/// be called in one.
DOCA_STABLE uint8_t doca_pe_progress(struct doca_pe* pe);
DOCA_STABLE doca_error_t doca_pe_get_num_inflight_tasks(const struct doca_pe* pe, size_t* num_inflight_tasks);

/// A descriptor for epoll, poll or select, the engine's: readable when it is armed and something is pending.
DOCA_STABLE doca_error_t doca_pe_get_notification_handle(const struct doca_pe* pe, doca_notification_handle_t* handle);
/// NOT_SUPPORTED: for another operating system.
DOCA_STABLE doca_error_t doca_pe_set_notification_handle(struct doca_pe* pe, doca_notification_handle_t handle,
                                                         union doca_data completion_key);
/// Arms the descriptor. It is readable at once if something is pending.
DOCA_STABLE doca_error_t doca_pe_request_notification(struct doca_pe* pe);
/// Makes the descriptor unreadable, after a wake-up. handle does not matter.
DOCA_STABLE doca_error_t doca_pe_clear_notification(struct doca_pe* pe, doca_notification_handle_t handle);
/// BAD_STATE in a callback.
DOCA_EXPERIMENTAL doca_error_t doca_pe_set_event_mode(struct doca_pe* pe, enum doca_pe_event_mode event_mode);

/// Hands a task to the device, without looking at its fields: a fault in them is a failed completion. SUCCESS: the
/// callback follows, by doca_pe_progress(). Otherwise the task is the program's as before: BAD_STATE unless the context
/// runs and the task is idle, AGAIN while the queue is full.
DOCA_STABLE doca_error_t doca_task_submit(struct doca_task* task);
/// flags: of enum doca_task_submit_flag.
DOCA_EXPERIMENTAL doca_error_t doca_task_submit_ex(struct doca_task* task, uint32_t flags);
/// Looks at the fields before: INVALID_VALUE for a fault in them.
DOCA_STABLE doca_error_t doca_task_try_submit(struct doca_task* task);
/// Gives the task back to its context, for another allocation. While its context stops, a task in flight may be freed,
/// too: no callback follows.
DOCA_STABLE void doca_task_free(struct doca_task* task);
/// How the task completed.
DOCA_STABLE doca_error_t doca_task_get_status(const struct doca_task* task);
DOCA_STABLE void doca_task_set_user_data(struct doca_task* task, union doca_data user_data);
DOCA_STABLE union doca_data doca_task_get_user_data(const struct doca_task* task);
DOCA_STABLE struct doca_ctx* doca_task_get_ctx(const struct doca_task* task);

// Batches: NOT_SUPPORTED, NULL or 0, as no library here has them.
DOCA_EXPERIMENTAL doca_error_t doca_task_batch_submit(struct doca_task_batch* task_batch);
DOCA_EXPERIMENTAL doca_error_t doca_task_batch_try_submit(struct doca_task_batch* task_batch);
DOCA_EXPERIMENTAL void doca_task_batch_free(struct doca_task_batch* task_batch);
DOCA_EXPERIMENTAL doca_error_t doca_task_batch_get_status(const struct doca_task_batch* task_batch);
DOCA_EXPERIMENTAL struct doca_ctx* doca_task_batch_get_ctx(const struct doca_task_batch* task_batch);
DOCA_EXPERIMENTAL union doca_data doca_task_batch_get_ctx_user_data(const struct doca_task_batch* task_batch);
DOCA_EXPERIMENTAL uint16_t doca_task_batch_get_tasks_num(const struct doca_task_batch* task_batch);
DOCA_EXPERIMENTAL void doca_task_batch_set_user_data(struct doca_task_batch* task_batch, union doca_data user_data);
DOCA_EXPERIMENTAL union doca_data doca_task_batch_get_user_data(const struct doca_task_batch* task_batch);

#ifdef __cplusplus
}
#endif

#endif  // DOCA_PE_H_

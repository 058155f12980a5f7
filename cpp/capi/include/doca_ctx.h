/// Contexts: what every library's object is, by doca_<library>_as_ctx().
///
/// A context is idle, starting, running or stopping. It is configured while idle, takes tasks while running, and
/// becomes idle again when it was stopped and every task has come back and been freed. Besides what is said at each
/// function: INVALID_VALUE for NULL, for an object that was destroyed, and for one of another kind.
///
/// A context belongs to the thread of its progress engine. In another one doca_ctx_start() and doca_ctx_stop() answer
/// NOT_PERMITTED. The other functions, and those that take tasks, do not look at the thread, and their behaviour is
/// undefined there, except that a library built with checks (PYDOCA_CHECKS) gives no task.
#ifndef DOCA_CTX_H_
#define DOCA_CTX_H_

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
struct doca_devinfo;
struct doca_dpa;
struct doca_gpu;

enum doca_ctx_states {
  DOCA_CTX_STATE_IDLE = 0,
  DOCA_CTX_STATE_STARTING = 1,
  DOCA_CTX_STATE_RUNNING = 2,
  DOCA_CTX_STATE_STOPPING = 3
};

/// Called after each change, in doca_ctx_start(), doca_ctx_stop() or doca_pe_progress(). user_data: the context's.
typedef void (*doca_ctx_state_changed_callback_t)(const union doca_data user_data, struct doca_ctx* ctx,
                                                  enum doca_ctx_states prev_state, enum doca_ctx_states next_state);

/// SUCCESS: running. IN_PROGRESS: starting, by the progress engine. NOT_CONNECTED without a progress engine, BAD_STATE
/// unless idle, INVALID_VALUE without the configuration that the library asks for.
DOCA_STABLE doca_error_t doca_ctx_start(struct doca_ctx* ctx);
/// SUCCESS: idle, also when it was. IN_PROGRESS: stopping; free the tasks, and progress until it is idle. The tasks in
/// flight come back, by their error callbacks, unless the device completes them.
DOCA_STABLE doca_error_t doca_ctx_stop(struct doca_ctx* ctx);
DOCA_STABLE doca_error_t doca_ctx_get_state(const struct doca_ctx* ctx, enum doca_ctx_states* state);
/// Tasks that were submitted and have not completed.
DOCA_STABLE doca_error_t doca_ctx_get_num_inflight_tasks(const struct doca_ctx* ctx, size_t* num_inflight_tasks);
/// Posts tasks that were submitted without DOCA_TASK_SUBMIT_FLAG_FLUSH.
DOCA_EXPERIMENTAL void doca_ctx_flush_tasks(struct doca_ctx* ctx);

// These may be called in any state. Callbacks get the user data.
DOCA_STABLE doca_error_t doca_ctx_set_user_data(struct doca_ctx* ctx, union doca_data user_data);
DOCA_STABLE doca_error_t doca_ctx_get_user_data(const struct doca_ctx* ctx, union doca_data* user_data);
DOCA_STABLE doca_error_t doca_ctx_set_state_changed_cb(struct doca_ctx* ctx, doca_ctx_state_changed_callback_t cb);

// NOT_SUPPORTED: data paths on a GPU and on a DPA are not for programs in C, and devices have one completion vector.
DOCA_EXPERIMENTAL doca_error_t doca_ctx_set_datapath_on_gpu(struct doca_ctx* ctx, struct doca_gpu* gpu_dev);
DOCA_EXPERIMENTAL doca_error_t doca_ctx_set_datapath_on_dpa(struct doca_ctx* ctx, struct doca_dpa* dpa_dev);
/// The vectors are numbered from 0.
DOCA_EXPERIMENTAL doca_error_t doca_ctx_set_completion_vector(struct doca_ctx* ctx, uint32_t comp_vector);
DOCA_EXPERIMENTAL doca_error_t doca_ctx_cap_get_num_completion_vectors(const struct doca_devinfo* devinfo,
                                                                       uint32_t* num_comp_vectors);

#ifdef __cplusplus
}
#endif

#endif  // DOCA_CTX_H_

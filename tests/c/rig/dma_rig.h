/// A stage with a context of DMA.
#ifndef TESTS_C_DMA_RIG_H
#define TESTS_C_DMA_RIG_H

#include "rig/case.h"
#include "rig/device.h"
#include "rig/map.h"
#include "rig/stage.h"

#include <doca_dma.h>
#include <stdbool.h>
#include <stddef.h>

/// A device for DMA, and size bytes of memory.
void stage_open_for_dma(struct stage* stage, size_t size);

/// A context of DMA, and what its callbacks have seen.
struct dma_rig {
  struct stage stage;
  struct doca_dma* dma;
  struct doca_ctx* ctx;
  struct doca_buf* src;
  struct doca_buf* dst;
  int num_succeeded;
  int num_failed;
  doca_error_t first_failure;
  bool resubmit;                    ///< asks a callback of a case to do so
  int num_states;                   ///< how many states has
  enum doca_ctx_states states[16];  ///< what the state callback saw
  doca_error_t answer;              ///< what a call that a callback of a case makes answers
};

/// Counts, and frees the task.
void count_success(struct doca_dma_task_memcpy* task, union doca_data task_user_data, union doca_data ctx_user_data);
void count_failure(struct doca_dma_task_memcpy* task, union doca_data task_user_data, union doca_data ctx_user_data);

/// A running context with num_tasks tasks, whose user data is the rig. src: the first half of the memory, dst: the
/// second one.
void dma_rig_set_up(struct dma_rig* rig, size_t size, doca_dma_task_memcpy_completion_cb_t on_success,
                    doca_dma_task_memcpy_completion_cb_t on_error, uint32_t num_tasks);
/// The same, configured and connected but not started.
void dma_rig_configure(struct dma_rig* rig, size_t size, doca_dma_task_memcpy_completion_cb_t on_success,
                       doca_dma_task_memcpy_completion_cb_t on_error, uint32_t num_tasks);
/// Stops the context if need be.
void dma_rig_tear_down(struct dma_rig* rig);

/// Takes a task; from src to dst. The process ends when it cannot.
struct doca_dma_task_memcpy* take_copy(struct dma_rig* rig, struct doca_buf* src, struct doca_buf* dst);
struct doca_task* as_task(struct doca_dma_task_memcpy* task);

/// Progresses until so many tasks have completed, or the state is reached; the alarm of the case ends it otherwise.
void progress_until_completed(struct dma_rig* rig, int num_completed);
void progress_until_state(struct doca_pe* pe, struct doca_ctx* ctx, enum doca_ctx_states state);

#endif  // TESTS_C_DMA_RIG_H

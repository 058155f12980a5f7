/// What the cases need: a device, an engine, an inventory and mapped memory, with a context of DMA where they copy.
#ifndef TESTS_C_STAND_H
#define TESTS_C_STAND_H

#include "rig/case.h"

#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_dma.h>
#include <doca_mmap.h>
#include <doca_pe.h>
#include <stddef.h>

struct stand {
  struct doca_dev* dev;
  struct doca_pe* pe;
  struct doca_buf_inventory* inventory;
  struct doca_mmap* mmap;  ///< maps memory; local devices may write there
  char* memory;
  size_t size;
};

/// Opens the first device of the list for which check, a function of doca_<library>.h, answers success. Ends the
/// process when there is none.
struct doca_dev* open_first(doca_error_t (*check)(const struct doca_devinfo* info));
/// The same by its PCI address.
struct doca_dev* open_pci(const char* pci_addr);

/// A started map of memory that stays the caller's.
struct doca_mmap* map_memory(struct doca_dev* dev, void* memory, size_t size, uint32_t permissions);

/// A device for DMA, and size bytes of zeroed memory.
void stand_set_up(struct stand* stand, size_t size);
/// The same with another device, which the stand then closes.
void stand_set_up_with(struct stand* stand, struct doca_dev* dev, size_t size);
/// Everything must be gone that uses the stand.
void stand_tear_down(struct stand* stand);

/// All of [offset, offset + len) is data, as of a source.
struct doca_buf* data_buf(struct stand* stand, size_t offset, size_t len);
/// All of it is tailroom, as of a destination.
struct doca_buf* room_buf(struct stand* stand, size_t offset, size_t len);

/// A context of DMA, and what its callbacks have seen.
struct dma_rig {
  struct stand stand;
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

enum doca_ctx_states state_of(struct doca_ctx* ctx);
/// Progresses until so many tasks have completed, or the state is reached; the alarm of the case ends it otherwise.
void progress_until_completed(struct dma_rig* rig, int num_completed);
void progress_until_state(struct doca_pe* pe, struct doca_ctx* ctx, enum doca_ctx_states state);
/// Stops the context and progresses until it is idle.
void stop_until_idle(struct doca_pe* pe, struct doca_ctx* ctx);

#endif  // TESTS_C_STAND_H

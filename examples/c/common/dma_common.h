// A DMA context with its progress engine and its bufs, as the programs that copy use it.
#ifndef EXAMPLES_DMA_COMMON_H_
#define EXAMPLES_DMA_COMMON_H_

#include "common.h"

#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_dma.h>
#include <stdbool.h>
#include <stdint.h>

struct copier {
  struct doca_pe* pe;
  struct doca_dma* dma;
  struct doca_buf_inventory* inventory;
};

// What a task of copier_submit() tells when it has completed.
struct completion {
  bool is_done;
  doca_error_t status;
};

// Starts a DMA context on dev with num_tasks tasks, and an inventory with two bufs for each.
doca_error_t copier_create(struct doca_dev* dev, uint32_t num_tasks, struct copier* copier);
// Stops and destroys them; takes what copier_create() left behind when it failed, too.
doca_error_t copier_destroy(struct copier* copier);

// Submits a task that copies the data of src to the tailroom of dst. completion must live until it is done.
doca_error_t copier_submit(struct copier* copier, struct doca_buf* src, struct doca_buf* dst,
                           struct completion* completion);
// Progresses the engine until the task has completed; returns its status.
doca_error_t copier_wait(struct copier* copier, const struct completion* completion);

#endif

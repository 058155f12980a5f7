#ifndef BENCHMARKS_C_STAGE_H
#define BENCHMARKS_C_STAGE_H

#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_error.h>
#include <doca_mmap.h>
#include <doca_pe.h>
#include <stddef.h>
#include <stdint.h>

enum { depth = 32, task_size = 64, num_bufs = 2 * depth };

/// What the tasks of a loop need: the first function of the host, an engine, bufs, and malloc'd memory in a map.
struct stage {
  struct doca_dev* dev;
  struct doca_pe* pe;
  struct doca_buf_inventory* inventory;
  struct doca_mmap* mmap;
  char* memory;
};

/// The memory has a piece of task_size bytes for each of num_bufs bufs.
void stage_open(struct stage* stage, uint32_t permissions);
void stage_close(struct stage* stage);

/// A source of the map, or a destination, which is the piece of that number.
struct doca_buf* stage_data(struct stage* stage, struct doca_mmap* mmap, size_t number);
struct doca_buf* stage_room(struct stage* stage, struct doca_mmap* mmap, size_t number);

/// Connects the context and starts it. user_data: what its callbacks get.
void stage_start(struct stage* stage, struct doca_ctx* ctx, void* user_data);
/// Stops it and progresses until it is idle.
void stage_stop(struct stage* stage, struct doca_ctx* ctx);

_Noreturn void refuse(doca_error_t status);
/// Memory for a loop, all zeros.
void* zeroed(size_t size);

/// A benchmark that cannot do its work has no figure.
static inline void require(doca_error_t status) {
  if (__builtin_expect(status != DOCA_SUCCESS, 0)) refuse(status);
}

#endif  // BENCHMARKS_C_STAGE_H

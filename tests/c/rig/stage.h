#ifndef TESTS_C_STAGE_H
#define TESTS_C_STAGE_H

#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_mmap.h>
#include <doca_pe.h>
#include <stddef.h>
#include <stdint.h>

/// What the tasks of a case need: a device, an engine, bufs, and malloc'd memory in a started map.
struct stage {
  struct doca_dev* dev;
  struct doca_pe* pe;
  struct doca_buf_inventory* inventory;
  struct doca_mmap* mmap;
  uint8_t* memory;
  size_t size;
};

/// Takes the device, and closes it at the end.
void stage_open(struct stage* stage, struct doca_dev* dev, size_t size);
/// The bufs are given back before.
void stage_close(struct stage* stage);

/// A buf whose data are the length bytes at offset.
struct doca_buf* stage_data(struct stage* stage, size_t offset, size_t length);
/// A buf without data, with so much room.
struct doca_buf* stage_room(struct stage* stage, size_t offset, size_t length);
size_t data_len(const struct doca_buf* buf);
void give_back(struct doca_buf* buf);

/// Connects the context and starts it: it runs afterwards.
void stage_start(struct stage* stage, struct doca_ctx* ctx);
/// Stops the context and progresses until it is idle.
void stage_stop(struct stage* stage, struct doca_ctx* ctx);
void stop_until_idle(struct doca_pe* pe, struct doca_ctx* ctx);
/// Progresses until *count is at least wanted; fails after some seconds.
void stage_progress_until(struct stage* stage, const int* count, int wanted);
enum doca_ctx_states state_of(const struct doca_ctx* ctx);

#endif  // TESTS_C_STAGE_H

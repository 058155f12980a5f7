/// Loops in C, each beside the same one of the engine in engine/c_report.cpp. A failed call ends the process.
#ifndef BENCHMARKS_C_LOOPS_H
#define BENCHMARKS_C_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Each loop is opened, run for any number of units, and closed. Tasks have 64 bytes, and 32 of them are in flight; runs
// of those have at least 32 units.

/// Copies. is_fresh: a task is freed and taken anew for each.
struct c_dma_loop;
struct c_dma_loop* c_dma_open(bool is_fresh);
void c_dma_run(struct c_dma_loop* loop, uint64_t count);
void c_dma_close(struct c_dma_loop* loop);

/// Digests by SHA-256, a task for each. The device must have SHA.
struct c_sha_loop;
struct c_sha_loop* c_sha_open(void);
void c_sha_run(struct c_sha_loop* loop, uint64_t count);
void c_sha_close(struct c_sha_loop* loop);

/// Writes between two contexts of this process, a task for each.
struct c_rdma_loop;
struct c_rdma_loop* c_rdma_open(void);
void c_rdma_run(struct c_rdma_loop* loop, uint64_t count);
void c_rdma_close(struct c_rdma_loop* loop);

/// Messages to the server of that name, a task for each. serve(server) lets the server progress.
struct c_comch_loop;
struct c_comch_loop* c_comch_open(const char* name, void (*serve)(void* server), void* server);
void c_comch_run(struct c_comch_loop* loop, uint64_t count);
void c_comch_close(struct c_comch_loop* loop);

/// Bufs of an inventory, sources and destinations in turn, which are got and given back in bursts.
struct c_buf_loop;
struct c_buf_loop* c_buf_open(void);
void c_buf_run(struct c_buf_loop* loop, uint64_t count);
void c_buf_close(struct c_buf_loop* loop);

/// An event that is set, read and waited for.
struct c_event_loop;
struct c_event_loop* c_event_open(void);
void c_event_run(struct c_event_loop* loop, uint64_t count);
void c_event_close(struct c_event_loop* loop);

/// An engine that has nothing to do.
struct c_idle_loop;
struct c_idle_loop* c_idle_open(void);
void c_idle_run(struct c_idle_loop* loop, uint64_t count);
void c_idle_close(struct c_idle_loop* loop);

#ifdef __cplusplus
}
#endif

#endif  // BENCHMARKS_C_LOOPS_H

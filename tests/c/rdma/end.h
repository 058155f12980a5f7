#ifndef TESTS_C_END_H
#define TESTS_C_END_H

#include "rig/stage.h"

#include <doca_rdma.h>
#include <stdint.h>

enum { end_memory = 8192, end_half = 4096, end_tasks = 4 };

/// What a program has seen: the user data of its context.
struct end_seen {
  int requests, established, failed, disconnected;
  int successes, failures;
  doca_error_t status;  ///< the last task's
  uint64_t task_data;
  uint64_t connection_data;  ///< the last report's
  enum doca_rdma_opcode opcode;
  uint32_t length;
  doca_be32_t immediate;
  const struct doca_rdma_connection* over;  ///< the last message's
};

/// One end of connections: a context with tasks of every kind, in memory that peers may access.
struct end {
  struct stage stage;
  struct doca_rdma* rdma;
  struct doca_rdma_connection* connection;  ///< the exported one, or the one reported last
  struct doca_mmap* remote;                 ///< the peer's memory
  struct end_seen seen;
};

/// A context that is configured, for that many connections.
void end_create(struct end* end, uint16_t connections);
/// The same, and running.
void end_open(struct end* end, uint16_t connections);
/// Stops the context and closes all.
void end_close(struct end* end);

/// Two ends that are connected by exchanged details, and have each other's memory.
void ends_open(struct end* a, struct end* b);
void ends_close(struct end* a, struct end* b);

/// Exports a connection, and makes its details a copy.
size_t end_export(struct end* end, uint8_t details[512]);
void end_connect(struct end* end, const uint8_t* details, size_t size);
/// Makes end->remote of a description of the peer's memory.
void end_import(struct end* end, const void* description, size_t size);

/// A port that no other process of the tests uses.
uint16_t end_port(void);

/// Progresses both until *count is at least wanted; b may be NULL.
void ends_progress_until(struct end* a, struct end* b, const int* count, int wanted);

/// Memory of the peer.
struct doca_buf* end_remote_data(struct end* end, size_t offset, size_t length);
struct doca_buf* end_remote_room(struct end* end, size_t offset, size_t length);

/// Posts a receive of dst.
void end_receive(struct end* end, struct doca_buf* dst);
/// Submits the task, which must be accepted.
void end_submit(struct doca_task* task);

#endif  // TESTS_C_END_H

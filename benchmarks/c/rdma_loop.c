#include "loops.h"
#include "stage.h"

#include <doca_rdma.h>
#include <stdlib.h>

enum {
  permissions = DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ | DOCA_ACCESS_FLAG_RDMA_WRITE,
};

/// One side of the connection.
struct end {
  struct stage stage;
  struct doca_rdma* rdma;
  struct doca_rdma_connection* connection;
  const void* details;
  size_t details_size;
  bool is_connected;
};

struct c_rdma_loop {
  struct end end;  ///< that writes: the user data of its context
  struct end peer;
  struct doca_mmap* remote;
  struct doca_buf* src[depth];
  struct doca_buf* dst[depth];
  uint64_t to_submit;
  uint64_t completed;
};

static void start(struct c_rdma_loop* loop, union doca_data number) {
  struct doca_rdma_task_write* task = NULL;
  require(doca_rdma_task_write_allocate_init(loop->end.rdma, loop->end.connection, loop->src[number.u64],
                                             loop->dst[number.u64], number, &task));
  require(doca_task_submit(doca_rdma_task_write_as_task(task)));
}

static void written(struct doca_rdma_task_write* task, union doca_data number, union doca_data ctx_data) {
  struct c_rdma_loop* loop = ctx_data.ptr;
  require(doca_buf_reset_data_len(loop->dst[number.u64]));
  doca_task_free(doca_rdma_task_write_as_task(task));
  ++loop->completed;
  if (loop->to_submit > 0) {
    --loop->to_submit;
    start(loop, number);
  }
}

static void failed(struct doca_rdma_task_write* task, union doca_data number, union doca_data ctx_data) {
  (void)number;
  (void)ctx_data;
  refuse(doca_task_get_status(doca_rdma_task_write_as_task(task)));
}

static void requested(struct doca_rdma_connection* connection, union doca_data ctx_data) {
  (void)ctx_data;
  require(doca_rdma_connection_reject(connection));
}

static void established(struct doca_rdma_connection* connection, union doca_data connection_data,
                        union doca_data ctx_data) {
  struct end* end = ctx_data.ptr;
  (void)connection;
  (void)connection_data;
  end->is_connected = true;
}

static void not_connected(struct doca_rdma_connection* connection, union doca_data connection_data,
                          union doca_data ctx_data) {
  struct end* end = ctx_data.ptr;
  (void)connection;
  (void)connection_data;
  end->is_connected = false;
}

static void open_end(struct end* end) {
  stage_open(&end->stage, permissions);
  require(doca_rdma_create(end->stage.dev, &end->rdma));
  require(doca_rdma_task_write_set_conf(end->rdma, written, failed, depth));
  require(doca_rdma_set_permissions(end->rdma, permissions));
  require(doca_rdma_set_connection_state_callbacks(end->rdma, requested, established, not_connected, not_connected));
  stage_start(&end->stage, doca_rdma_as_ctx(end->rdma), end);
  require(doca_rdma_export(end->rdma, &end->details, &end->details_size, &end->connection));
}

static void connect_ends(struct end* end, struct end* peer) {
  require(doca_rdma_connect(end->rdma, peer->details, peer->details_size, end->connection));
  require(doca_rdma_connect(peer->rdma, end->details, end->details_size, peer->connection));
  while (!end->is_connected || !peer->is_connected) {
    (void)doca_pe_progress(end->stage.pe);
    (void)doca_pe_progress(peer->stage.pe);
  }
}

struct c_rdma_loop* c_rdma_open(void) {
  struct c_rdma_loop* loop = calloc(1, sizeof *loop);
  if (loop == NULL) refuse(DOCA_ERROR_NO_MEMORY);
  open_end(&loop->end);
  open_end(&loop->peer);
  connect_ends(&loop->end, &loop->peer);
  const void* description = NULL;
  size_t size = 0;
  require(doca_mmap_export_rdma(loop->peer.stage.mmap, loop->peer.stage.dev, &description, &size));
  require(doca_mmap_create_from_export(NULL, description, size, loop->end.stage.dev, &loop->remote));
  for (size_t i = 0; i < depth; ++i) {
    loop->src[i] = stage_data(&loop->end.stage, loop->end.stage.mmap, i);
    loop->dst[i] = stage_room(&loop->end.stage, loop->remote, i);
  }
  return loop;
}

void c_rdma_run(struct c_rdma_loop* loop, uint64_t count) {
  const uint64_t end = loop->completed + count;
  loop->to_submit = count - depth;
  for (uint64_t i = 0; i < depth; ++i) start(loop, (union doca_data){.u64 = i});
  while (loop->completed < end) (void)doca_pe_progress(loop->end.stage.pe);
}

static void close_end(struct end* end) {
  stage_stop(&end->stage, doca_rdma_as_ctx(end->rdma));
  require(doca_rdma_destroy(end->rdma));
  stage_close(&end->stage);
}

void c_rdma_close(struct c_rdma_loop* loop) {
  for (size_t i = 0; i < depth; ++i) {
    require(doca_buf_dec_refcount(loop->src[i], NULL));
    require(doca_buf_dec_refcount(loop->dst[i], NULL));
  }
  require(doca_mmap_destroy(loop->remote));
  close_end(&loop->end);
  close_end(&loop->peer);
  free(loop);
}

#include "rdma/end.h"

#include "rig/case.h"
#include "rig/device.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void note(struct doca_task* task, union doca_data task_data, union doca_data ctx_data) {
  struct end* end = ctx_data.ptr;
  end->seen.status = doca_task_get_status(task);
  end->seen.task_data = task_data.u64;
  ++*(end->seen.status == DOCA_SUCCESS ? &end->seen.successes : &end->seen.failures);
}

#define CALLBACK(kind)                                                                        \
  static void kind##_completed(struct doca_rdma_task_##kind* task, union doca_data task_data, \
                               union doca_data ctx_data) {                                    \
    doca_task_free(doca_rdma_task_##kind##_as_task(task));                                    \
    note(doca_rdma_task_##kind##_as_task(task), task_data, ctx_data);                         \
  }
CALLBACK(send)
CALLBACK(send_imm)
CALLBACK(write)
CALLBACK(write_imm)
CALLBACK(atomic_cmp_swp)
CALLBACK(atomic_fetch_add)
CALLBACK(remote_net_sync_event_notify_set)
CALLBACK(remote_net_sync_event_notify_add)

/// Asks for results after the task was freed.
static void receive_completed(struct doca_rdma_task_receive* task, union doca_data task_data,
                              union doca_data ctx_data) {
  struct end* end = ctx_data.ptr;
  doca_task_free(doca_rdma_task_receive_as_task(task));
  end->seen.opcode = doca_rdma_task_receive_get_result_opcode(task);
  end->seen.length = doca_rdma_task_receive_get_result_len(task);
  end->seen.immediate = doca_rdma_task_receive_get_result_immediate_data(task);
  end->seen.over = doca_rdma_task_receive_get_result_rdma_connection(task);
  note(doca_rdma_task_receive_as_task(task), task_data, ctx_data);
}

static void read_completed(struct doca_rdma_task_read* task, union doca_data task_data, union doca_data ctx_data) {
  struct end* end = ctx_data.ptr;
  end->seen.length = doca_rdma_task_read_get_result_len(task);
  end->seen.over = doca_rdma_task_read_get_rdma_connection(task);
  doca_task_free(doca_rdma_task_read_as_task(task));
  note(doca_rdma_task_read_as_task(task), task_data, ctx_data);
}

static void remote_net_sync_event_get_completed(struct doca_rdma_task_remote_net_sync_event_get* task,
                                                union doca_data task_data, union doca_data ctx_data) {
  struct end* end = ctx_data.ptr;
  end->seen.length = doca_rdma_task_remote_net_sync_event_get_get_result_len(task);
  doca_task_free(doca_rdma_task_remote_net_sync_event_get_as_task(task));
  note(doca_rdma_task_remote_net_sync_event_get_as_task(task), task_data, ctx_data);
}

static void requested(struct doca_rdma_connection* connection, union doca_data ctx_data) {
  struct end* end = ctx_data.ptr;
  ++end->seen.requests;
  end->connection = connection;
}

static void report(struct doca_rdma_connection* connection, union doca_data connection_data, struct end* end,
                   int* count) {
  ++*count;
  end->connection = connection;
  end->seen.connection_data = connection_data.u64;
}
static void established(struct doca_rdma_connection* connection, union doca_data connection_data,
                        union doca_data ctx_data) {
  struct end* end = ctx_data.ptr;
  report(connection, connection_data, end, &end->seen.established);
}
static void failed(struct doca_rdma_connection* connection, union doca_data connection_data, union doca_data ctx_data) {
  struct end* end = ctx_data.ptr;
  report(connection, connection_data, end, &end->seen.failed);
}
static void disconnected(struct doca_rdma_connection* connection, union doca_data connection_data,
                         union doca_data ctx_data) {
  struct end* end = ctx_data.ptr;
  report(connection, connection_data, end, &end->seen.disconnected);
}

static void configure(struct doca_rdma* rdma) {
#define CONF(kind) CHECK_OK(doca_rdma_task_##kind##_set_conf(rdma, kind##_completed, kind##_completed, end_tasks))
  CONF(receive);
  CONF(send);
  CONF(send_imm);
  CONF(read);
  CONF(write);
  CONF(write_imm);
  CONF(atomic_cmp_swp);
  CONF(atomic_fetch_add);
  CONF(remote_net_sync_event_get);
  CONF(remote_net_sync_event_notify_set);
  CONF(remote_net_sync_event_notify_add);
}

uint16_t end_port(void) { return (uint16_t)(10000 + getpid() % 50000); }

void end_create(struct end* end, uint16_t connections) {
  const uint32_t all = DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ | DOCA_ACCESS_FLAG_RDMA_WRITE |
                       DOCA_ACCESS_FLAG_RDMA_ATOMIC;
  memset(end, 0, sizeof *end);
  stage_open(&end->stage, open_first_device(), end_memory);
  CHECK_OK(doca_mmap_stop(end->stage.mmap));
  CHECK_OK(doca_mmap_set_permissions(end->stage.mmap, all));
  CHECK_OK(doca_mmap_start(end->stage.mmap));
  CHECK_OK(doca_rdma_create(end->stage.dev, &end->rdma));
  configure(end->rdma);
  CHECK_OK(doca_rdma_set_permissions(end->rdma, all));
  CHECK_OK(doca_rdma_set_max_num_connections(end->rdma, connections));
  CHECK_OK(doca_rdma_set_connection_request_timeout(end->rdma, 10000));
  CHECK_OK(doca_rdma_set_connection_state_callbacks(end->rdma, requested, established, failed, disconnected));
  CHECK_OK(doca_ctx_set_user_data(doca_rdma_as_ctx(end->rdma), (union doca_data){.ptr = end}));
}

void end_open(struct end* end, uint16_t connections) {
  end_create(end, connections);
  stage_start(&end->stage, doca_rdma_as_ctx(end->rdma));
}

void end_close(struct end* end) {
  stage_stop(&end->stage, doca_rdma_as_ctx(end->rdma));
  CHECK_OK(doca_rdma_destroy(end->rdma));
  if (end->remote != NULL) {
    CHECK_OK(doca_mmap_destroy(end->remote));
  }
  stage_close(&end->stage);
}

size_t end_export(struct end* end, uint8_t details[512]) {
  const void* blob = NULL;
  size_t size = 0;
  CHECK_OK(doca_rdma_export(end->rdma, &blob, &size, &end->connection));
  CHECK(size > 0 && size < 512);
  memcpy(details, blob, size);
  return size;
}

void end_connect(struct end* end, const uint8_t* details, size_t size) {
  CHECK_OK(doca_rdma_connect(end->rdma, details, size, end->connection));
}

void end_import(struct end* end, const void* description, size_t size) {
  CHECK_OK(doca_mmap_create_from_export(NULL, description, size, end->stage.dev, &end->remote));
}

static void import_memory_of(struct end* end, struct end* peer) {
  const void* description = NULL;
  size_t size = 0;
  CHECK_OK(doca_mmap_export_rdma(peer->stage.mmap, peer->stage.dev, &description, &size));
  end_import(end, description, size);
}

void ends_open(struct end* a, struct end* b) {
  uint8_t of_a[512];
  uint8_t of_b[512];
  end_open(a, 1);
  end_open(b, 1);
  const size_t size_a = end_export(a, of_a);
  const size_t size_b = end_export(b, of_b);
  end_connect(a, of_b, size_b);
  end_connect(b, of_a, size_a);
  ends_progress_until(a, b, &a->seen.established, 1);
  ends_progress_until(a, b, &b->seen.established, 1);
  import_memory_of(a, b);
  import_memory_of(b, a);
}

void ends_close(struct end* a, struct end* b) {
  end_close(a);
  end_close(b);
}

void ends_progress_until(struct end* a, struct end* b, const int* count, int wanted) {
  const time_t end = time(NULL) + 10;
  while (*count < wanted) {
    CHECK(time(NULL) < end);
    (void)doca_pe_progress(a->stage.pe);
    if (b != NULL) {
      (void)doca_pe_progress(b->stage.pe);
    }
  }
}

static char* remote_address(struct end* end, size_t offset) {
  void* begin = NULL;
  size_t length = 0;
  CHECK_OK(doca_mmap_get_memrange(end->remote, &begin, &length));
  CHECK(length == end_memory);
  return (char*)begin + offset;
}

struct doca_buf* end_remote_data(struct end* end, size_t offset, size_t length) {
  struct doca_buf* buf = NULL;
  CHECK_OK(
      doca_buf_inventory_buf_get_by_data(end->stage.inventory, end->remote, remote_address(end, offset), length, &buf));
  return buf;
}

struct doca_buf* end_remote_room(struct end* end, size_t offset, size_t length) {
  struct doca_buf* buf = NULL;
  CHECK_OK(
      doca_buf_inventory_buf_get_by_addr(end->stage.inventory, end->remote, remote_address(end, offset), length, &buf));
  return buf;
}

void end_receive(struct end* end, struct doca_buf* dst) {
  struct doca_rdma_task_receive* task = NULL;
  CHECK_OK(doca_rdma_task_receive_allocate_init(end->rdma, dst, (union doca_data){.u64 = 0}, &task));
  CHECK(doca_rdma_task_receive_get_dst_buf(task) == dst);
  end_submit(doca_rdma_task_receive_as_task(task));
}

void end_submit(struct doca_task* task) { CHECK_OK(doca_task_try_submit(task)); }

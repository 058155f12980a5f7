#include "rdma/end.h"
#include "rig/case.h"

#include <string.h>

static const union doca_data seven = {.u64 = 7};

static void send(struct end* end, struct doca_buf* src) {
  struct doca_rdma_task_send* task = NULL;
  CHECK_OK(doca_rdma_task_send_allocate_init(end->rdma, end->connection, src, seven, &task));
  end_submit(doca_rdma_task_send_as_task(task));
}

CASE(rdma_message, fills_a_receive_that_knows_its_connection) {
  struct end a, b;
  ends_open(&a, &b);
  memset(a.stage.memory, 0x5a, 100);
  struct doca_buf* src = stage_data(&a.stage, 0, 100);
  struct doca_buf* dst = stage_room(&b.stage, 0, 200);
  end_receive(&b, dst);
  send(&a, src);
  ends_progress_until(&a, &b, &a.seen.successes, 1);
  ends_progress_until(&a, &b, &b.seen.successes, 1);
  CHECK(a.seen.task_data == 7);
  CHECK(data_len(dst) == 100 && b.stage.memory[99] == 0x5a && b.stage.memory[100] == 0);
  CHECK(b.seen.opcode == DOCA_RDMA_OPCODE_RECV_SEND && b.seen.length == 100);
  CHECK(b.seen.over == b.connection);
  give_back(src);
  give_back(dst);
  ends_close(&a, &b);
}

CASE(rdma_message, may_be_empty) {
  struct end a, b;
  ends_open(&a, &b);
  end_receive(&b, NULL);
  send(&a, NULL);
  ends_progress_until(&a, &b, &b.seen.successes, 1);
  CHECK(b.seen.length == 0);
  ends_progress_until(&a, &b, &a.seen.successes, 1);
  ends_close(&a, &b);
}

CASE(rdma_message, an_immediate_arrives_as_it_was_given) {
  const doca_be32_t immediate = 0x01020304;
  struct end a, b;
  ends_open(&a, &b);
  end_receive(&b, NULL);
  end_receive(&b, NULL);
  struct doca_rdma_task_send_imm* message = NULL;
  CHECK_OK(doca_rdma_task_send_imm_allocate_init(a.rdma, a.connection, NULL, immediate, seven, &message));
  CHECK(doca_rdma_task_send_imm_get_immediate_data(message) == immediate);
  end_submit(doca_rdma_task_send_imm_as_task(message));
  ends_progress_until(&a, &b, &b.seen.successes, 1);
  CHECK(b.seen.opcode == DOCA_RDMA_OPCODE_RECV_SEND_WITH_IMM && b.seen.immediate == immediate);
  ends_progress_until(&a, &b, &a.seen.successes, 1);
  memset(a.stage.memory, 0x5a, 10);
  struct doca_buf* src = stage_data(&a.stage, 0, 10);
  struct doca_buf* dst = end_remote_room(&a, end_half, 10);
  struct doca_rdma_task_write_imm* write = NULL;
  CHECK_OK(doca_rdma_task_write_imm_allocate_init(a.rdma, a.connection, src, dst, 0, seven, &write));
  doca_rdma_task_write_imm_set_immediate_data(write, immediate + 1);
  end_submit(doca_rdma_task_write_imm_as_task(write));
  ends_progress_until(&a, &b, &b.seen.successes, 2);
  CHECK(b.seen.opcode == DOCA_RDMA_OPCODE_RECV_WRITE_WITH_IMM && b.seen.immediate == immediate + 1);
  CHECK(b.stage.memory[end_half + 9] == 0x5a);
  ends_progress_until(&a, &b, &a.seen.successes, 2);
  give_back(src);
  give_back(dst);
  ends_close(&a, &b);
}

CASE(rdma_message, longer_than_its_receive_fails_at_both_ends) {
  struct end a, b;
  ends_open(&a, &b);
  struct doca_buf* src = stage_data(&a.stage, 0, 100);
  struct doca_buf* dst = stage_room(&b.stage, 0, 50);
  end_receive(&b, dst);
  send(&a, src);
  ends_progress_until(&a, &b, &a.seen.failures, 1);
  CHECK(a.seen.status == DOCA_ERROR_IO_FAILED);
  CHECK(state_of(doca_rdma_as_ctx(a.rdma)) != DOCA_CTX_STATE_RUNNING);
  ends_progress_until(&a, &b, &b.seen.disconnected, 1);
  CHECK(state_of(doca_rdma_as_ctx(b.rdma)) == DOCA_CTX_STATE_RUNNING);
  stage_stop(&a.stage, doca_rdma_as_ctx(a.rdma));
  give_back(src);
  stage_stop(&b.stage, doca_rdma_as_ctx(b.rdma));
  give_back(dst);
  ends_close(&a, &b);
}

CASE(rdma_message, without_a_receive_times_out) {
  struct end a, b;
  uint8_t of_a[512];
  uint8_t of_b[512];
  end_create(&a, 1);
  CHECK_OK(doca_rdma_set_rnr_retry_count(a.rdma, 1));
  stage_start(&a.stage, doca_rdma_as_ctx(a.rdma));
  end_open(&b, 1);
  const size_t size_a = end_export(&a, of_a);
  const size_t size_b = end_export(&b, of_b);
  end_connect(&a, of_b, size_b);
  end_connect(&b, of_a, size_a);
  send(&a, NULL);
  ends_progress_until(&a, &b, &a.seen.failures, 1);
  CHECK(a.seen.status == DOCA_ERROR_TIME_OUT);
  ends_close(&a, &b);
}

CASE(rdma_message, tasks_in_flight_are_flushed_by_a_stop) {
  struct end a, b;
  ends_open(&a, &b);
  struct doca_buf* dst = stage_room(&b.stage, 0, 50);
  end_receive(&b, dst);
  stage_stop(&b.stage, doca_rdma_as_ctx(b.rdma));
  CHECK(b.seen.failures == 1 && b.seen.status == DOCA_ERROR_SHUTDOWN);
  CHECK(b.seen.disconnected == 1);
  ends_progress_until(&a, NULL, &a.seen.disconnected, 1);
  give_back(dst);
  ends_close(&a, &b);
}

CASE(rdma_message, more_tasks_than_configured_are_no_memory) {
  struct end a, b;
  ends_open(&a, &b);
  struct doca_rdma_task_send* tasks[end_tasks];
  for (int i = 0; i < end_tasks; ++i) {
    CHECK_OK(doca_rdma_task_send_allocate_init(a.rdma, a.connection, NULL, seven, &tasks[i]));
  }
  struct doca_rdma_task_send* task = NULL;
  CHECK_STATUS(doca_rdma_task_send_allocate_init(a.rdma, a.connection, NULL, seven, &task), DOCA_ERROR_NO_MEMORY);
  for (int i = 0; i < end_tasks; ++i) {
    doca_task_free(doca_rdma_task_send_as_task(tasks[i]));
  }
  ends_close(&a, &b);
}

CASE(rdma_message, a_task_needs_a_connection_of_its_context) {
  struct end a, b;
  ends_open(&a, &b);
  struct doca_rdma_task_send* task = NULL;
  CHECK_INVALID(doca_rdma_task_send_allocate_init(a.rdma, NULL, NULL, seven, &task));
  CHECK_INVALID(doca_rdma_task_send_allocate_init(a.rdma, b.connection, NULL, seven, &task));
  CHECK_INVALID(doca_rdma_task_send_allocate_init(NULL, a.connection, NULL, seven, &task));
  CHECK_INVALID(doca_rdma_task_send_allocate_init(a.rdma, a.connection, NULL, seven, NULL));
  CHECK_OK(doca_rdma_task_send_allocate_init(a.rdma, a.connection, NULL, seven, &task));
  doca_rdma_task_send_set_rdma_connection(task, b.connection);
  doca_rdma_task_send_set_rdma_connection(task, NULL);
  CHECK(doca_rdma_task_send_get_rdma_connection(task) == a.connection);
  CHECK(doca_rdma_task_send_get_rdma_connection(NULL) == NULL);
  doca_task_free(doca_rdma_task_send_as_task(task));
  ends_close(&a, &b);
}

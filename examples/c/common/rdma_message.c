#include "rdma_message.h"

#include <arpa/inet.h>
#include <string.h>

static void on_sent(struct doca_rdma_task_send_imm* task, union doca_data task_data, union doca_data ctx_data) {
  (void)ctx_data;
  rdma_end_note(doca_rdma_task_send_imm_as_task(task), task_data);
}

static void on_received(struct doca_rdma_task_receive* task, union doca_data task_data, union doca_data ctx_data) {
  struct receipt* receipt = task_data.ptr;
  (void)ctx_data;
  receipt->immediate = doca_rdma_task_receive_get_result_immediate_data(task);
  rdma_end_note(doca_rdma_task_receive_as_task(task), task_data);
}

doca_error_t rdma_message_configure(struct rdma_end* end) {
  const doca_error_t result = doca_rdma_task_send_imm_set_conf(end->rdma, on_sent, on_sent, 1);
  return result == DOCA_SUCCESS ? doca_rdma_task_receive_set_conf(end->rdma, on_received, on_received, 1) : result;
}

doca_error_t rdma_message_send(struct rdma_end* end, const char* text, uint32_t number) {
  struct region* region = &end->region;
  struct doca_buf* src = NULL;
  struct doca_rdma_task_send_imm* task = NULL;
  struct outcome outcome = {0};
  const size_t size = strlen(text) + 1;
  if (size > region->size) return DOCA_ERROR_TOO_BIG;
  memcpy(region->memory, text, size);
  doca_error_t result = doca_buf_inventory_buf_get_by_data(end->inventory, region->mmap, region->memory, size, &src);
  if (result != DOCA_SUCCESS) return result;
  // The immediate travels as it is given.
  result = doca_rdma_task_send_imm_allocate_init(end->rdma, end->connection, src, htonl(number),
                                                 (union doca_data){.ptr = &outcome}, &task);
  if (result == DOCA_SUCCESS) result = rdma_end_run(end, doca_rdma_task_send_imm_as_task(task), &outcome);
  doca_buf_dec_refcount(src, NULL);
  return result;
}

doca_error_t rdma_message_post(struct rdma_end* end, struct receipt* receipt) {
  const struct region* region = &end->region;
  struct doca_rdma_task_receive* task = NULL;
  *receipt = (struct receipt){0};
  doca_error_t result =
      doca_buf_inventory_buf_get_by_addr(end->inventory, region->mmap, region->memory, region->size, &receipt->buf);
  if (result != DOCA_SUCCESS) return result;
  result = doca_rdma_task_receive_allocate_init(end->rdma, receipt->buf, (union doca_data){.ptr = receipt}, &task);
  if (result != DOCA_SUCCESS) return result;
  return doca_task_submit(doca_rdma_task_receive_as_task(task));
}

doca_error_t rdma_message_wait(struct rdma_end* end, struct receipt* receipt, uint32_t* number) {
  size_t length = 0;
  doca_error_t result = rdma_end_wait(end, &receipt->outcome.is_done);
  if (result == DOCA_SUCCESS) result = receipt->outcome.status;
  if (result == DOCA_SUCCESS) result = doca_buf_get_data_len(receipt->buf, &length);
  // Who knows what a peer sends: the text must end in the message.
  if (result == DOCA_SUCCESS && (length == 0 || end->region.memory[length - 1] != '\0')) {
    result = DOCA_ERROR_UNEXPECTED;
  }
  *number = ntohl(receipt->immediate);
  const doca_error_t given_back = doca_buf_dec_refcount(receipt->buf, NULL);
  DOCA_ERROR_PROPAGATE(result, given_back);
  return result;
}

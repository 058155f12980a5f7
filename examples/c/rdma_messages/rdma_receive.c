// Prints the text that rdma_send sends, which was told the same directory. rdma_receive DIRECTORY

#include "rdma_message.h"

#include <stdio.h>

static doca_error_t receive(struct rdma_end* end, const char* directory) {
  struct receipt receipt;
  uint32_t number = 0;
  doca_error_t result = rdma_end_meet(end, directory, "receiver", "sender");
  if (result == DOCA_SUCCESS) result = rdma_message_post(end, &receipt);
  if (result == DOCA_SUCCESS) result = rdma_message_wait(end, &receipt, &number);
  if (result == DOCA_SUCCESS) printf("received with the number %u: %s\n", number, end->region.memory);
  return result;
}

int main(int argc, char** argv) {
  const char* directory = argc > 1 ? argv[1] : ".";
  struct rdma_end end = {0};
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = rdma_end_create(NULL, 1024, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, &end);
  if (result == DOCA_SUCCESS) result = rdma_message_configure(&end);
  if (result == DOCA_SUCCESS) result = rdma_end_start(&end);
  if (result == DOCA_SUCCESS) result = receive(&end, directory);
  const doca_error_t destroyed = rdma_end_destroy(&end);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("rdma_receive", result);
}

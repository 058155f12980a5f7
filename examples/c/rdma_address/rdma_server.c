// Waits at a port for rdma_client, and prints the text that it sends. rdma_server [PORT]

#include "rdma_message.h"

#include <stdio.h>
#include <stdlib.h>

static doca_error_t serve(struct rdma_end* end, uint16_t port) {
  struct receipt receipt;
  uint32_t number = 0;
  doca_error_t result = rdma_message_post(end, &receipt);
  if (result == DOCA_SUCCESS) result = rdma_end_listen(end, port);
  if (result == DOCA_SUCCESS) result = rdma_message_wait(end, &receipt, &number);
  if (result != DOCA_SUCCESS) return result;
  printf("received with the number %u: %s\n", number, end->region.memory);
  rdma_end_wait_for_disconnection(end);
  return DOCA_SUCCESS;
}

int main(int argc, char** argv) {
  const uint16_t port = (uint16_t)(argc > 1 ? atoi(argv[1]) : 13579);
  struct rdma_end end = {0};
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = rdma_end_create(NULL, 1024, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, &end);
  if (result == DOCA_SUCCESS) result = rdma_message_configure(&end);
  if (result == DOCA_SUCCESS) result = rdma_end_start(&end);
  if (result == DOCA_SUCCESS) result = serve(&end, port);
  const doca_error_t destroyed = rdma_end_destroy(&end);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("rdma_server", result);
}

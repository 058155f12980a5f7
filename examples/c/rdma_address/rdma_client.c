// Sends a text to rdma_server. rdma_client ADDRESS [PORT [TEXT]]

#include "rdma_message.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  const uint16_t port = (uint16_t)(argc > 2 ? atoi(argv[2]) : 13579);
  const char* text = argc > 3 ? argv[3] : "This text came to an address";
  struct rdma_end end = {0};
  if (argc < 2) {
    fprintf(stderr, "usage: rdma_client ADDRESS [PORT [TEXT]]\n");
    return EXIT_FAILURE;
  }
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = rdma_end_create(NULL, 1024, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, &end);
  if (result == DOCA_SUCCESS) result = rdma_message_configure(&end);
  if (result == DOCA_SUCCESS) result = rdma_end_start(&end);
  if (result == DOCA_SUCCESS) result = rdma_end_connect_to(&end, argv[1], port);
  if (result == DOCA_SUCCESS) result = rdma_message_send(&end, text, 42);
  if (result == DOCA_SUCCESS) printf("sent: %s\n", text);
  if (result == DOCA_SUCCESS) result = rdma_end_disconnect(&end);
  const doca_error_t destroyed = rdma_end_destroy(&end);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("rdma_client", result);
}

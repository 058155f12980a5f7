// Sends a text to rdma_receive, which was told the same directory: the two exchange the details of their connection by
// files. rdma_send DIRECTORY [TEXT]

#include "rdma_message.h"

#include <stdio.h>

int main(int argc, char** argv) {
  const char* directory = argc > 1 ? argv[1] : ".";
  const char* text = argc > 2 ? argv[2] : "This text came by RDMA";
  struct rdma_end end = {0};
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = rdma_end_create(NULL, 1024, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, &end);
  if (result == DOCA_SUCCESS) result = rdma_message_configure(&end);
  if (result == DOCA_SUCCESS) result = rdma_end_start(&end);
  if (result == DOCA_SUCCESS) result = rdma_end_meet(&end, directory, "sender", "receiver");
  if (result == DOCA_SUCCESS) result = rdma_message_send(&end, text, 42);
  if (result == DOCA_SUCCESS) printf("sent: %s\n", text);
  const doca_error_t destroyed = rdma_end_destroy(&end);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("rdma_send", result);
}

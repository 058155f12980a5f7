// Lends memory to rdma_requester, which was told the same directory, and prints what it finds there in the end. It does
// not progress meanwhile. With a port it listens there; otherwise both exchange the details of their connection by
// files. rdma_responder DIRECTORY [PORT]

#include "files.h"
#include "memory.h"
#include "rdma_common.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { patience = 30 };

// The files that the two programs write, apart from the details of their connection.
static void remove_files(const char* directory) {
  char path[512];
  path_in(directory, "memory", path, sizeof path);
  remove(path);
  path_in(directory, "done", path, sizeof path);
  remove(path);
}

static doca_error_t lend(struct rdma_end* end, const char* directory) {
  char path[512];
  const void* exported = NULL;
  size_t size = 0;
  const doca_error_t result = doca_mmap_export_rdma(end->region.mmap, end->dev, &exported, &size);
  if (result != DOCA_SUCCESS) return result;
  path_in(directory, "memory", path, sizeof path);
  return write_file(path, exported, size);
}

static doca_error_t wait_for_requester(const char* directory) {
  char path[512];
  char nothing[1];
  size_t size = 0;
  path_in(directory, "done", path, sizeof path);
  return read_file(path, patience, nothing, sizeof nothing, &size);
}

// The device writes to this memory, so the counter is read as a word that another thread writes.
static void print_memory(const struct region* region) {
  const uint64_t counter = __atomic_load_n((const uint64_t*)(const void*)region->memory, __ATOMIC_ACQUIRE);
  printf("counter: %" PRIu64 ", text: %s\n", counter, region->memory + counter_size);
}

static doca_error_t meet(struct rdma_end* end, const char* directory, const char* port) {
  return port != NULL ? rdma_end_listen(end, (uint16_t)atoi(port))
                      : rdma_end_meet(end, directory, "responder", "requester");
}

int main(int argc, char** argv) {
  const char* directory = argc > 1 ? argv[1] : ".";
  const uint32_t permissions = DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ |
                               DOCA_ACCESS_FLAG_RDMA_WRITE | DOCA_ACCESS_FLAG_RDMA_ATOMIC;
  struct rdma_end end = {0};
  remove_files(directory);
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = rdma_end_create(NULL, memory_size, permissions, &end);
  if (result == DOCA_SUCCESS) result = rdma_end_start(&end);
  if (result == DOCA_SUCCESS) result = meet(&end, directory, argc > 2 ? argv[2] : NULL);
  if (result == DOCA_SUCCESS) result = lend(&end, directory);
  if (result == DOCA_SUCCESS) result = wait_for_requester(directory);
  if (result == DOCA_SUCCESS) print_memory(&end.region);
  remove_files(directory);
  const doca_error_t destroyed = rdma_end_destroy(&end);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("rdma_responder", result);
}

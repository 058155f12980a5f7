// Lends memory to rdma_requester, which was told the same directory, and prints what it finds there in the end. It does
// not progress meanwhile. rdma_responder DIRECTORY

#include "files.h"
#include "memory.h"
#include "rdma_common.h"

#include <inttypes.h>
#include <stdio.h>

enum { patience = 30 };

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

int main(int argc, char** argv) {
  const char* directory = argc > 1 ? argv[1] : ".";
  const uint32_t permissions = DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ |
                               DOCA_ACCESS_FLAG_RDMA_WRITE | DOCA_ACCESS_FLAG_RDMA_ATOMIC;
  struct rdma_end end = {0};
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = rdma_end_create(NULL, memory_size, permissions, &end);
  if (result == DOCA_SUCCESS) result = rdma_end_start(&end);
  if (result == DOCA_SUCCESS) result = rdma_end_meet(&end, directory, "responder", "requester");
  if (result == DOCA_SUCCESS) result = lend(&end, directory);
  if (result == DOCA_SUCCESS) result = wait_for_requester(directory);
  if (result == DOCA_SUCCESS) print_memory(&end.region);
  const doca_error_t destroyed = rdma_end_destroy(&end);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("rdma_responder", result);
}

// Has a sync event that rdma_event_publisher changes over RDMA, and waits for its values without any progress. With a
// port it listens there; otherwise both exchange the details of their connection by files of the same directory.
// rdma_event_owner DIRECTORY [PORT]

#include "event.h"
#include "files.h"
#include "rdma_common.h"

#include <doca_sync_event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static doca_error_t create_event(struct doca_dev* dev, struct doca_sync_event** event) {
  doca_error_t result = doca_sync_event_create(event);
  if (result == DOCA_SUCCESS) result = doca_sync_event_add_publisher_location_remote_net(*event);
  if (result == DOCA_SUCCESS) result = doca_sync_event_add_subscriber_location_cpu(*event, dev);
  return result == DOCA_SUCCESS ? doca_sync_event_start(*event) : result;
}

static doca_error_t lend(const char* directory, struct doca_sync_event* event) {
  const uint8_t* exported = NULL;
  size_t length = 0;
  char path[512];
  const doca_error_t result = doca_sync_event_export_to_remote_net(event, &exported, &length);
  if (result != DOCA_SUCCESS) return result;
  path_in(directory, "event", path, sizeof path);
  return write_file(path, exported, length);
}

static void remove_event_file(const char* directory) {
  char path[512];
  path_in(directory, "event", path, sizeof path);
  remove(path);
}

static doca_error_t wait_for_publisher(struct doca_sync_event* event) {
  uint64_t value = 0;
  doca_error_t result = doca_sync_event_wait_eq_yield(event, first_value + summand, UINT64_MAX);
  if (result == DOCA_SUCCESS) result = doca_sync_event_get(event, &value);
  if (result == DOCA_SUCCESS) printf("the event has become %" PRIu64 "\n", value);
  return result;
}

static doca_error_t meet(struct rdma_end* end, const char* directory, const char* port) {
  return port != NULL ? rdma_end_listen(end, (uint16_t)atoi(port))
                      : rdma_end_meet(end, directory, "owner", "publisher");
}

static doca_error_t run(struct rdma_end* end, const char* directory, const char* port, struct doca_sync_event** event) {
  doca_error_t result = rdma_end_start(end);
  if (result == DOCA_SUCCESS) result = create_event(end->dev, event);
  if (result == DOCA_SUCCESS) result = meet(end, directory, port);
  if (result == DOCA_SUCCESS) result = lend(directory, *event);
  return result == DOCA_SUCCESS ? wait_for_publisher(*event) : result;
}

// The publisher may still be inside its last task.
static doca_error_t destroy_event(struct doca_sync_event* event) {
  if (event == NULL) return DOCA_SUCCESS;
  doca_error_t result = doca_sync_event_stop(event);
  while (result == DOCA_ERROR_AGAIN) result = doca_sync_event_stop(event);
  const doca_error_t destroyed = doca_sync_event_destroy(event);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return result;
}

int main(int argc, char** argv) {
  const char* directory = argc > 1 ? argv[1] : ".";
  const uint32_t permissions = DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_RDMA_READ |
                               DOCA_ACCESS_FLAG_RDMA_WRITE | DOCA_ACCESS_FLAG_RDMA_ATOMIC;
  struct rdma_end end = {0};
  struct doca_sync_event* event = NULL;
  remove_event_file(directory);
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = rdma_end_create(NULL, sizeof(uint64_t), permissions, &end);
  if (result == DOCA_SUCCESS) result = run(&end, directory, argc > 2 ? argv[2] : NULL, &event);
  remove_event_file(directory);
  const doca_error_t of_event = destroy_event(event);
  DOCA_ERROR_PROPAGATE(result, of_event);
  const doca_error_t destroyed = rdma_end_destroy(&end);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("rdma_event_owner", result);
}

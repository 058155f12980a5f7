// Sets the sync event of rdma_event_owner, adds to it, and reads it, over RDMA. It connects to the address at which the
// owner listens; otherwise both exchange the details of their connection by files of the same directory.
// rdma_event_publisher DIRECTORY [ADDRESS PORT]

#include "event.h"
#include "files.h"
#include "rdma_common.h"

#include <doca_sync_event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { patience = 30 };  // seconds

static void on_set(struct doca_rdma_task_remote_net_sync_event_notify_set* task, union doca_data task_data,
                   union doca_data ctx_data) {
  (void)ctx_data;
  rdma_end_note(doca_rdma_task_remote_net_sync_event_notify_set_as_task(task), task_data);
}
static void on_add(struct doca_rdma_task_remote_net_sync_event_notify_add* task, union doca_data task_data,
                   union doca_data ctx_data) {
  (void)ctx_data;
  rdma_end_note(doca_rdma_task_remote_net_sync_event_notify_add_as_task(task), task_data);
}

static doca_error_t configure(struct rdma_end* end) {
  doca_error_t result = doca_rdma_task_remote_net_sync_event_notify_set_set_conf(end->rdma, on_set, on_set, 1);
  if (result != DOCA_SUCCESS) return result;
  return doca_rdma_task_remote_net_sync_event_notify_add_set_conf(end->rdma, on_add, on_add, 1);
}

static doca_error_t borrow(struct rdma_end* end, const char* directory, struct doca_sync_event_remote_net** event) {
  uint8_t exported[event_export_size];
  size_t length = 0;
  char path[512];
  path_in(directory, "event", path, sizeof path);
  const doca_error_t result = read_file(path, patience, exported, sizeof exported, &length);
  if (result != DOCA_SUCCESS) return result;
  return doca_sync_event_remote_net_create_from_export(end->dev, exported, length, event);
}

static doca_error_t set(struct rdma_end* end, struct doca_sync_event_remote_net* event, uint64_t value) {
  const struct region* own = &end->region;
  struct doca_buf* src = NULL;
  struct doca_rdma_task_remote_net_sync_event_notify_set* task = NULL;
  struct outcome outcome = {0};
  memcpy(own->memory, &value, sizeof value);
  doca_error_t result = doca_buf_inventory_buf_get_by_data(end->inventory, own->mmap, own->memory, sizeof value, &src);
  if (result != DOCA_SUCCESS) return result;
  result = doca_rdma_task_remote_net_sync_event_notify_set_allocate_init(end->rdma, end->connection, event, src,
                                                                         (union doca_data){.ptr = &outcome}, &task);
  if (result == DOCA_SUCCESS) {
    result = rdma_end_run(end, doca_rdma_task_remote_net_sync_event_notify_set_as_task(task), &outcome);
  }
  doca_buf_dec_refcount(src, NULL);
  return result;
}

static doca_error_t add(struct rdma_end* end, struct doca_sync_event_remote_net* event, uint64_t value) {
  const struct region* own = &end->region;
  struct doca_buf* before = NULL;
  struct doca_rdma_task_remote_net_sync_event_notify_add* task = NULL;
  struct outcome outcome = {0};
  uint64_t fetched = 0;
  doca_error_t result =
      doca_buf_inventory_buf_get_by_addr(end->inventory, own->mmap, own->memory, sizeof fetched, &before);
  if (result != DOCA_SUCCESS) return result;
  result = doca_rdma_task_remote_net_sync_event_notify_add_allocate_init(
      end->rdma, end->connection, event, before, value, (union doca_data){.ptr = &outcome}, &task);
  if (result == DOCA_SUCCESS) {
    result = rdma_end_run(end, doca_rdma_task_remote_net_sync_event_notify_add_as_task(task), &outcome);
  }
  memcpy(&fetched, own->memory, sizeof fetched);
  if (result == DOCA_SUCCESS) printf("the event was %" PRIu64 "\n", fetched);
  doca_buf_dec_refcount(before, NULL);
  return result;
}

static doca_error_t publish(struct rdma_end* end, const char* directory) {
  struct doca_sync_event_remote_net* event = NULL;
  doca_error_t result = borrow(end, directory, &event);
  if (result != DOCA_SUCCESS) return result;
  result = set(end, event, first_value);
  if (result == DOCA_SUCCESS) result = add(end, event, summand);
  const doca_error_t destroyed = doca_sync_event_remote_net_destroy(event);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return result;
}

// place: an address and a port, or NULL.
static doca_error_t meet(struct rdma_end* end, const char* directory, char** place) {
  return place != NULL ? rdma_end_connect_to(end, place[0], (uint16_t)atoi(place[1]))
                       : rdma_end_meet(end, directory, "publisher", "owner");
}

int main(int argc, char** argv) {
  const char* directory = argc > 1 ? argv[1] : ".";
  struct rdma_end end = {0};
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) {
    result = rdma_end_create(NULL, sizeof(uint64_t), DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, &end);
  }
  if (result == DOCA_SUCCESS) result = configure(&end);
  if (result == DOCA_SUCCESS) result = rdma_end_start(&end);
  if (result == DOCA_SUCCESS) result = meet(&end, directory, argc > 3 ? argv + 2 : NULL);
  if (result == DOCA_SUCCESS) result = publish(&end, directory);
  const doca_error_t destroyed = rdma_end_destroy(&end);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("rdma_event_publisher", result);
}

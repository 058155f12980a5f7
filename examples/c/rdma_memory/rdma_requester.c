// Writes a text into the memory of rdma_responder, which was told the same directory, reads it back, and adds to its
// counter. It connects to the address at which the responder listens; otherwise both exchange the details of their
// connection by files. rdma_requester DIRECTORY [TEXT [ADDRESS PORT]]

#include "files.h"
#include "memory.h"
#include "rdma_common.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { patience = 30 };

static void on_write(struct doca_rdma_task_write* task, union doca_data task_data, union doca_data ctx_data) {
  (void)ctx_data;
  rdma_end_note(doca_rdma_task_write_as_task(task), task_data);
}
static void on_read(struct doca_rdma_task_read* task, union doca_data task_data, union doca_data ctx_data) {
  (void)ctx_data;
  rdma_end_note(doca_rdma_task_read_as_task(task), task_data);
}
static void on_add(struct doca_rdma_task_atomic_fetch_add* task, union doca_data task_data, union doca_data ctx_data) {
  (void)ctx_data;
  rdma_end_note(doca_rdma_task_atomic_fetch_add_as_task(task), task_data);
}

static doca_error_t configure(struct rdma_end* end) {
  doca_error_t result = doca_rdma_task_write_set_conf(end->rdma, on_write, on_write, 1);
  if (result == DOCA_SUCCESS) result = doca_rdma_task_read_set_conf(end->rdma, on_read, on_read, 1);
  if (result == DOCA_SUCCESS) result = doca_rdma_task_atomic_fetch_add_set_conf(end->rdma, on_add, on_add, 1);
  return result;
}

// The responder's memory, as tasks can reach it.
struct remote {
  struct doca_mmap* mmap;
  char* memory;
};

static doca_error_t borrow(struct rdma_end* end, const char* directory, struct remote* remote) {
  char path[512];
  char exported[4096];
  size_t size = 0;
  void* memory = NULL;
  path_in(directory, "memory", path, sizeof path);
  doca_error_t result = read_file(path, patience, exported, sizeof exported, &size);
  if (result != DOCA_SUCCESS) return result;
  result = doca_mmap_create_from_export(NULL, exported, size, end->dev, &remote->mmap);
  if (result != DOCA_SUCCESS) return result;
  result = doca_mmap_get_memrange(remote->mmap, &memory, &size);
  remote->memory = memory;
  return result == DOCA_SUCCESS && size != memory_size ? DOCA_ERROR_UNEXPECTED : result;
}

// A task's bufs. One has data, the other one room for them.
struct bufs {
  struct doca_buf* data;
  struct doca_buf* room;
};

static doca_error_t get_bufs(struct rdma_end* end, struct doca_mmap* of_data, char* data, struct doca_mmap* of_room,
                             char* room, size_t size, struct bufs* bufs) {
  *bufs = (struct bufs){0};
  const doca_error_t result = doca_buf_inventory_buf_get_by_data(end->inventory, of_data, data, size, &bufs->data);
  if (result != DOCA_SUCCESS) return result;
  return doca_buf_inventory_buf_get_by_addr(end->inventory, of_room, room, size, &bufs->room);
}

static void give_back(struct bufs* bufs) {
  if (bufs->data != NULL) doca_buf_dec_refcount(bufs->data, NULL);
  if (bufs->room != NULL) doca_buf_dec_refcount(bufs->room, NULL);
}

static doca_error_t write_text(struct rdma_end* end, const struct remote* remote, size_t size) {
  const struct region* own = &end->region;
  struct bufs bufs;
  struct outcome outcome = {0};
  struct doca_rdma_task_write* task = NULL;
  doca_error_t result = get_bufs(end, own->mmap, own->memory, remote->mmap, remote->memory + counter_size, size, &bufs);
  if (result == DOCA_SUCCESS) {
    result = doca_rdma_task_write_allocate_init(end->rdma, end->connection, bufs.data, bufs.room,
                                                (union doca_data){.ptr = &outcome}, &task);
  }
  if (result == DOCA_SUCCESS) result = rdma_end_run(end, doca_rdma_task_write_as_task(task), &outcome);
  give_back(&bufs);
  return result;
}

static doca_error_t read_text(struct rdma_end* end, const struct remote* remote, size_t size) {
  const struct region* own = &end->region;
  char* copy = own->memory + memory_size;
  struct bufs bufs;
  struct outcome outcome = {0};
  struct doca_rdma_task_read* task = NULL;
  doca_error_t result = get_bufs(end, remote->mmap, remote->memory + counter_size, own->mmap, copy, size, &bufs);
  if (result == DOCA_SUCCESS) {
    result = doca_rdma_task_read_allocate_init(end->rdma, end->connection, bufs.data, bufs.room,
                                               (union doca_data){.ptr = &outcome}, &task);
  }
  if (result == DOCA_SUCCESS) result = rdma_end_run(end, doca_rdma_task_read_as_task(task), &outcome);
  if (result == DOCA_SUCCESS) printf("read back: %s\n", copy);
  give_back(&bufs);
  return result;
}

static doca_error_t add(struct rdma_end* end, const struct remote* remote, uint64_t summand) {
  const struct region* own = &end->region;
  uint64_t before = 0;
  struct bufs bufs;
  struct outcome outcome = {0};
  struct doca_rdma_task_atomic_fetch_add* task = NULL;
  doca_error_t result = get_bufs(end, remote->mmap, remote->memory, own->mmap, own->memory, counter_size, &bufs);
  if (result == DOCA_SUCCESS) {
    result = doca_rdma_task_atomic_fetch_add_allocate_init(end->rdma, end->connection, bufs.data, bufs.room, summand,
                                                           (union doca_data){.ptr = &outcome}, &task);
  }
  if (result == DOCA_SUCCESS) result = rdma_end_run(end, doca_rdma_task_atomic_fetch_add_as_task(task), &outcome);
  memcpy(&before, own->memory, counter_size);
  if (result == DOCA_SUCCESS) printf("the counter was %" PRIu64 "\n", before);
  give_back(&bufs);
  return result;
}

static doca_error_t request(struct rdma_end* end, const char* directory, const char* text) {
  const size_t size = strlen(text) + 1;
  char path[512];
  struct remote remote = {0};
  if (size > text_size) return DOCA_ERROR_TOO_BIG;
  doca_error_t result = borrow(end, directory, &remote);
  if (result == DOCA_SUCCESS) {
    memcpy(end->region.memory, text, size);
    result = write_text(end, &remote, size);
  }
  if (result == DOCA_SUCCESS) result = read_text(end, &remote, size);
  if (result == DOCA_SUCCESS) result = add(end, &remote, 42);
  if (remote.mmap != NULL) {
    const doca_error_t destroyed = doca_mmap_destroy(remote.mmap);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  path_in(directory, "done", path, sizeof path);
  const doca_error_t written = write_file(path, "", 0);
  DOCA_ERROR_PROPAGATE(result, written);
  return result;
}

// place: an address and a port, or NULL.
static doca_error_t meet(struct rdma_end* end, const char* directory, char** place) {
  return place != NULL ? rdma_end_connect_to(end, place[0], (uint16_t)atoi(place[1]))
                       : rdma_end_meet(end, directory, "requester", "responder");
}

int main(int argc, char** argv) {
  const char* directory = argc > 1 ? argv[1] : ".";
  const char* text = argc > 2 ? argv[2] : "This text was written by RDMA";
  struct rdma_end end = {0};
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) {
    result = rdma_end_create(NULL, (size_t)2 * memory_size, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, &end);
  }
  if (result == DOCA_SUCCESS) result = configure(&end);
  if (result == DOCA_SUCCESS) result = rdma_end_start(&end);
  if (result == DOCA_SUCCESS) result = meet(&end, directory, argc > 4 ? argv + 3 : NULL);
  if (result == DOCA_SUCCESS) result = request(&end, directory, text);
  const doca_error_t destroyed = rdma_end_destroy(&end);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("rdma_requester", result);
}

#include "rdma_common.h"

#include "files.h"

#include <arpa/inet.h>
#include <doca_log.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

DOCA_LOG_REGISTER(EXAMPLES::RDMA);

enum { num_bufs = 8, patience = 30 };

static void on_established(struct doca_rdma_connection* connection, union doca_data connection_data,
                           union doca_data ctx_data) {
  struct rdma_end* end = ctx_data.ptr;
  (void)connection_data;
  end->connection = connection;
  end->is_connected = true;
}

static void on_failure(struct doca_rdma_connection* connection, union doca_data connection_data,
                       union doca_data ctx_data) {
  struct rdma_end* end = ctx_data.ptr;
  (void)connection;
  (void)connection_data;
  end->failure = DOCA_ERROR_CONNECTION_ABORTED;
}

static void on_disconnection(struct doca_rdma_connection* connection, union doca_data connection_data,
                             union doca_data ctx_data) {
  struct rdma_end* end = ctx_data.ptr;
  (void)connection;
  (void)connection_data;
  end->is_connected = false;
}

// A server takes one client.
static void on_request(struct doca_rdma_connection* connection, union doca_data ctx_data) {
  struct rdma_end* end = ctx_data.ptr;
  end->failure = doca_rdma_connection_accept(connection, NULL, 0);
}

static doca_error_t create_context(uint32_t permissions, struct rdma_end* end) {
  doca_error_t result = doca_pe_create(&end->pe);
  if (result != DOCA_SUCCESS) return result;
  result = doca_rdma_create(end->dev, &end->rdma);
  if (result != DOCA_SUCCESS) return result;
  result = doca_rdma_set_permissions(end->rdma, permissions);
  if (result != DOCA_SUCCESS) return result;
  result =
      doca_rdma_set_connection_state_callbacks(end->rdma, on_request, on_established, on_failure, on_disconnection);
  if (result != DOCA_SUCCESS) return result;
  return doca_ctx_set_user_data(doca_rdma_as_ctx(end->rdma), (union doca_data){.ptr = end});
}

doca_error_t rdma_end_create(const char* pci_addr, size_t size, uint32_t permissions, struct rdma_end* end) {
  *end = (struct rdma_end){0};
  doca_error_t result = open_device(pci_addr, doca_rdma_cap_task_send_is_supported, &end->dev);
  if (result != DOCA_SUCCESS) return result;
  result = region_create(end->dev, size, permissions, &end->region);
  if (result != DOCA_SUCCESS) return result;
  result = doca_buf_inventory_create(num_bufs, &end->inventory);
  if (result != DOCA_SUCCESS) return result;
  result = doca_buf_inventory_start(end->inventory);
  if (result != DOCA_SUCCESS) return result;
  return create_context(permissions, end);
}

doca_error_t rdma_end_start(struct rdma_end* end) {
  const doca_error_t result = doca_pe_connect_ctx(end->pe, doca_rdma_as_ctx(end->rdma));
  return result == DOCA_SUCCESS ? doca_ctx_start(doca_rdma_as_ctx(end->rdma)) : result;
}

static doca_error_t destroy_context(struct rdma_end* end) {
  doca_error_t result = DOCA_SUCCESS;
  if (end->rdma != NULL) {
    result = stop_context(end->pe, doca_rdma_as_ctx(end->rdma));
    const doca_error_t destroyed = doca_rdma_destroy(end->rdma);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  if (end->pe != NULL) {
    const doca_error_t destroyed = doca_pe_destroy(end->pe);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  return result;
}

doca_error_t rdma_end_destroy(struct rdma_end* end) {
  doca_error_t result = destroy_context(end);
  if (end->details[0] != '\0') remove(end->details);
  if (end->inventory != NULL) {
    const doca_error_t destroyed = doca_buf_inventory_destroy(end->inventory);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  const doca_error_t unmapped = region_destroy(&end->region);
  DOCA_ERROR_PROPAGATE(result, unmapped);
  if (end->dev != NULL) {
    const doca_error_t closed = doca_dev_close(end->dev);
    DOCA_ERROR_PROPAGATE(result, closed);
  }
  return result;
}

static void rest(long milliseconds) {
  const struct timespec pause = {.tv_nsec = milliseconds * 1000000};
  nanosleep(&pause, NULL);
}

// The file may be one that an earlier program has left: then nobody answers for the details, until it is replaced.
static doca_error_t connect_by_file(struct rdma_end* end, const char* path) {
  char details[4096];
  size_t size = 0;
  doca_error_t result = DOCA_ERROR_CONNECTION_ABORTED;
  for (int look = 0; look < patience * 10 && result == DOCA_ERROR_CONNECTION_ABORTED; look++) {
    if (look > 0) rest(100);
    result = read_file(path, patience, details, sizeof details, &size);
    if (result == DOCA_SUCCESS) result = doca_rdma_connect(end->rdma, details, size, end->connection);
  }
  return result;
}

doca_error_t rdma_end_meet(struct rdma_end* end, const char* directory, const char* own, const char* peer) {
  char path[512];
  const void* exported = NULL;
  size_t size = 0;
  doca_error_t result = doca_rdma_export(end->rdma, &exported, &size, &end->connection);
  if (result != DOCA_SUCCESS) return result;
  path_in(directory, own, end->details, sizeof end->details);
  result = write_file(end->details, exported, size);
  if (result != DOCA_SUCCESS) return result;
  path_in(directory, peer, path, sizeof path);
  return connect_by_file(end, path);
}

// Where a peer finds this end: the IPv4 address of the device, or its GID where it has none.
static doca_error_t address_of(const struct rdma_end* end, char* text, size_t size) {
  const struct doca_devinfo* info = doca_dev_as_devinfo(end->dev);
  struct doca_rdma_gid gid;
  uint8_t ipv4[4];
  uint32_t index = 0;
  if (doca_devinfo_get_ipv4_addr(info, ipv4, sizeof ipv4) == DOCA_SUCCESS) {
    return inet_ntop(AF_INET, ipv4, text, (socklen_t)size) != NULL ? DOCA_SUCCESS : DOCA_ERROR_TOO_BIG;
  }
  doca_error_t result = doca_rdma_get_gid_index(end->rdma, &index);
  if (result == DOCA_SUCCESS) result = doca_rdma_cap_get_gid(info, index, 1, &gid);
  if (result != DOCA_SUCCESS) return result;
  return inet_ntop(AF_INET6, gid.raw, text, (socklen_t)size) != NULL ? DOCA_SUCCESS : DOCA_ERROR_TOO_BIG;
}

doca_error_t rdma_end_listen(struct rdma_end* end, uint16_t port) {
  char address[INET6_ADDRSTRLEN];
  doca_error_t result = address_of(end, address, sizeof address);
  if (result == DOCA_SUCCESS) result = doca_rdma_start_listen_to_port(end->rdma, port);
  if (result != DOCA_SUCCESS) return result;
  printf("listening: %s %d\n", address, port);
  fflush(stdout);
  result = rdma_end_wait(end, &end->is_connected);
  const doca_error_t stopped = doca_rdma_stop_listen_to_port(end->rdma, port);
  return result == DOCA_SUCCESS ? stopped : result;
}

static doca_error_t try_address(struct rdma_end* end, struct doca_rdma_addr* addr) {
  end->failure = DOCA_SUCCESS;
  const doca_error_t result = doca_rdma_connect_to_addr(end->rdma, addr, (union doca_data){.u64 = 0});
  return result == DOCA_SUCCESS ? rdma_end_wait(end, &end->is_connected) : result;
}

doca_error_t rdma_end_connect_to(struct rdma_end* end, const char* address, uint16_t port) {
  const bool is_gid = strchr(address, ':') != NULL;
  struct doca_rdma_addr* addr = NULL;
  doca_error_t result =
      doca_rdma_addr_create(is_gid ? DOCA_RDMA_ADDR_TYPE_GID : DOCA_RDMA_ADDR_TYPE_IPv4, address, port, &addr);
  if (result != DOCA_SUCCESS) return result;
  result = try_address(end, addr);
  for (int attempt = 0; attempt < patience * 10 && result == DOCA_ERROR_CONNECTION_ABORTED; attempt++) {
    rest(100);
    result = try_address(end, addr);
  }
  doca_rdma_addr_destroy(addr);
  return result;
}

doca_error_t rdma_end_disconnect(struct rdma_end* end) {
  const doca_error_t result = doca_rdma_connection_disconnect(end->connection);
  if (result == DOCA_SUCCESS) rdma_end_wait_for_disconnection(end);
  return result;
}

void rdma_end_note(struct doca_task* task, union doca_data task_data) {
  struct outcome* outcome = task_data.ptr;
  outcome->status = doca_task_get_status(task);
  outcome->is_done = true;
  doca_task_free(task);
}

doca_error_t rdma_end_run(struct rdma_end* end, struct doca_task* task, const struct outcome* outcome) {
  doca_error_t result = doca_task_submit(task);
  if (result != DOCA_SUCCESS) {
    doca_task_free(task);
    return result;
  }
  result = rdma_end_wait(end, &outcome->is_done);
  if (result == DOCA_SUCCESS) result = outcome->status;
  if (result != DOCA_SUCCESS) DOCA_LOG_ERR("The task failed: %s", doca_error_get_descr(result));
  return result;
}

static void progress_or_rest(struct rdma_end* end) {
  const struct timespec pause = {.tv_nsec = 10000};
  if (doca_pe_progress(end->pe) == 0) nanosleep(&pause, NULL);
}

doca_error_t rdma_end_wait(struct rdma_end* end, const bool* flag) {
  while (!*flag && end->failure == DOCA_SUCCESS) progress_or_rest(end);
  return end->failure;
}

void rdma_end_wait_for_disconnection(struct rdma_end* end) {
  while (end->is_connected) progress_or_rest(end);
}

// An RDMA context with its progress engine and its bufs, as the programs that use RDMA have it.
#ifndef EXAMPLES_RDMA_COMMON_H_
#define EXAMPLES_RDMA_COMMON_H_

#include "common.h"

#include <doca_buf.h>
#include <doca_buf_inventory.h>
#include <doca_rdma.h>
#include <stdbool.h>
#include <stdint.h>

struct rdma_end {
  struct doca_dev* dev;
  struct doca_pe* pe;
  struct doca_rdma* rdma;
  struct doca_buf_inventory* inventory;
  struct region region;                     // memory for messages, and for peers
  struct doca_rdma_connection* connection;  // one, which takes tasks while is_connected
  bool is_connected;
  doca_error_t failure;  // why the connection could not be made
  char details[512];     // the path of the file with the details of the connection, or ""
};

// What a task tells when it has completed: its user data.
struct outcome {
  bool is_done;
  doca_error_t status;
};

// Opens a device with RDMA, or that of pci_addr unless it is NULL, and an idle context with size bytes of memory, which
// peers may use as permissions (DOCA_ACCESS_FLAG_*) say. The program then configures its tasks.
doca_error_t rdma_end_create(const char* pci_addr, size_t size, uint32_t permissions, struct rdma_end* end);
doca_error_t rdma_end_start(struct rdma_end* end);
// Stops and destroys all; takes what rdma_end_create() left behind when it failed, too.
doca_error_t rdma_end_destroy(struct rdma_end* end);

// Exports a connection, whose details it writes to DIRECTORY/own, and connects it to that whose details the peer
// writes to DIRECTORY/peer. A file that an earlier program has left there is waited out.
doca_error_t rdma_end_meet(struct rdma_end* end, const char* directory, const char* own, const char* peer);
// Prints the address of the device, and waits for a peer that connects to this port of it.
doca_error_t rdma_end_listen(struct rdma_end* end, uint16_t port);
// Connects to a peer that listens there, or will soon. address: IPv4, or a GID.
doca_error_t rdma_end_connect_to(struct rdma_end* end, const char* address, uint16_t port);
// Ends a connection by address, and waits for its end.
doca_error_t rdma_end_disconnect(struct rdma_end* end);

// Stores the outcome of a task in its user data, and frees it.
void rdma_end_note(struct doca_task* task, union doca_data task_data);
// Submits the task, whose user data is outcome, and waits for it.
doca_error_t rdma_end_run(struct rdma_end* end, struct doca_task* task, const struct outcome* outcome);
// Progresses the engine until *flag is set, or the connection has failed.
doca_error_t rdma_end_wait(struct rdma_end* end, const bool* flag);
// The same until it is not set any more.
void rdma_end_wait_for_disconnection(struct rdma_end* end);

#endif

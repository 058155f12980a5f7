#include "rdma/end.h"
#include "rig/case.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/// What processes tell each other over a pipe: a length, and that many bytes.
struct told {
  size_t size;
  uint8_t bytes[1024];
};

static void tell(int to, const void* bytes, size_t size) {
  struct told told = {.size = size};
  memcpy(told.bytes, bytes, size);
  CHECK(write(to, &told, sizeof told) == (ssize_t)sizeof told);
}

static struct told hear(int from) {
  struct told told;
  CHECK(read(from, &told, sizeof told) == (ssize_t)sizeof told);
  return told;
}

/// The ends of two pipes, as one process has them.
struct line {
  int from;
  int to;
};

/// Starts a process that runs peer(); both have a line to the other.
static pid_t start(void (*peer)(struct line line), struct line* line) {
  int there[2];
  int back[2];
  CHECK(pipe(there) == 0 && pipe(back) == 0);
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    (void)close(there[1]);
    (void)close(back[0]);
    peer((struct line){.from = there[0], .to = back[1]});
    _exit(0);
  }
  (void)close(there[0]);
  (void)close(back[1]);
  *line = (struct line){.from = back[0], .to = there[1]};
  return pid;
}

static void wait_for(pid_t pid) {
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/// Exchanges details and descriptions of memory. The peer's may come late.
static void meet(struct end* end, struct line line) {
  uint8_t details[512];
  const void* description = NULL;
  size_t size = 0;
  const size_t details_size = end_export(end, details);
  tell(line.to, details, details_size);
  CHECK_OK(doca_mmap_export_rdma(end->stage.mmap, end->stage.dev, &description, &size));
  tell(line.to, description, size);
  const struct told peers_details = hear(line.from);
  const struct told peers_memory = hear(line.from);
  end_import(end, peers_memory.bytes, peers_memory.size);
  end_connect(end, peers_details.bytes, peers_details.size);
}

/// It never progresses, as a program that waits for the user's return key.
static void respond_blocked(struct line line) {
  struct end end;
  end_open(&end, 1);
  meet(&end, line);
  (void)hear(line.from);
  CHECK(memcmp(end.stage.memory, "written", 7) == 0);
  end_close(&end);
}

CASE(rdma_process, a_peer_that_blocks_is_written_and_read) {
  struct line line;
  const pid_t peer = start(respond_blocked, &line);
  struct end end;
  end_open(&end, 1);
  meet(&end, line);
  const union doca_data none = {.u64 = 0};
  memcpy(end.stage.memory, "written", 7);
  struct doca_buf* src = stage_data(&end.stage, 0, 7);
  struct doca_buf* dst = end_remote_room(&end, 0, 7);
  struct doca_rdma_task_write* write = NULL;
  CHECK_OK(doca_rdma_task_write_allocate_init(end.rdma, end.connection, src, dst, none, &write));
  end_submit(doca_rdma_task_write_as_task(write));
  ends_progress_until(&end, NULL, &end.seen.successes, 1);
  struct doca_buf* remote = end_remote_data(&end, 0, 7);
  struct doca_buf* room = stage_room(&end.stage, end_half, 7);
  struct doca_rdma_task_read* read_task = NULL;
  CHECK_OK(doca_rdma_task_read_allocate_init(end.rdma, end.connection, remote, room, none, &read_task));
  end_submit(doca_rdma_task_read_as_task(read_task));
  ends_progress_until(&end, NULL, &end.seen.successes, 2);
  CHECK(memcmp(end.stage.memory + end_half, "written", 7) == 0);
  tell(line.to, "done", 4);
  wait_for(peer);
  ends_progress_until(&end, NULL, &end.seen.disconnected, 1);
  give_back(src);
  give_back(dst);
  give_back(remote);
  give_back(room);
  end_close(&end);
}

/// It connects when the requester has submitted its task.
static void respond_late(struct line line) {
  struct end end;
  uint8_t details[512];
  end_open(&end, 1);
  struct doca_buf* room = stage_room(&end.stage, 0, 100);
  end_receive(&end, room);
  const size_t details_size = end_export(&end, details);
  tell(line.to, details, details_size);
  const struct told peers_details = hear(line.from);
  (void)hear(line.from);
  end_connect(&end, peers_details.bytes, peers_details.size);
  ends_progress_until(&end, NULL, &end.seen.successes, 1);
  CHECK(end.seen.established == 1 && end.seen.length == 7 && memcmp(end.stage.memory, "message", 7) == 0);
  ends_progress_until(&end, NULL, &end.seen.disconnected, 1);
  give_back(room);
  end_close(&end);
}

CASE(rdma_process, a_requester_that_leaves_at_once_is_still_met) {
  struct line line;
  const pid_t peer = start(respond_late, &line);
  struct end end;
  uint8_t details[512];
  end_open(&end, 1);
  const size_t details_size = end_export(&end, details);
  tell(line.to, details, details_size);
  const struct told peers_details = hear(line.from);
  end_connect(&end, peers_details.bytes, peers_details.size);
  memcpy(end.stage.memory, "message", 7);
  struct doca_buf* src = stage_data(&end.stage, 0, 7);
  struct doca_rdma_task_send* send = NULL;
  CHECK_OK(doca_rdma_task_send_allocate_init(end.rdma, end.connection, src, (union doca_data){.u64 = 0}, &send));
  end_submit(doca_rdma_task_send_as_task(send));
  for (int i = 0; i < 1000; ++i) {
    (void)doca_pe_progress(end.stage.pe);
  }
  CHECK(end.seen.successes == 0);
  tell(line.to, "submitted", 9);
  ends_progress_until(&end, NULL, &end.seen.successes, 1);
  give_back(src);
  end_close(&end);
  wait_for(peer);
}

static void respond_until_killed(struct line line) {
  struct end end;
  end_open(&end, 1);
  meet(&end, line);
  (void)hear(line.from);
}

CASE(rdma_process, a_peer_that_is_killed_ends_its_connection_only) {
  struct line line;
  const pid_t peer = start(respond_until_killed, &line);
  struct end end;
  end_open(&end, 1);
  meet(&end, line);
  struct doca_buf* room = stage_room(&end.stage, 0, 100);
  end_receive(&end, room);
  ends_progress_until(&end, NULL, &end.seen.established, 1);
  CHECK(kill(peer, SIGKILL) == 0);
  int status = 0;
  CHECK(waitpid(peer, &status, 0) == peer);
  ends_progress_until(&end, NULL, &end.seen.disconnected, 1);
  CHECK(end.seen.failures == 0 && state_of(doca_rdma_as_ctx(end.rdma)) == DOCA_CTX_STATE_RUNNING);
  stage_stop(&end.stage, doca_rdma_as_ctx(end.rdma));
  CHECK(end.seen.failures == 1 && end.seen.status == DOCA_ERROR_SHUTDOWN);
  give_back(room);
  end_close(&end);
}

static void serve_one_message(struct line line) {
  struct end end;
  end_open(&end, 1);
  CHECK_OK(doca_rdma_start_listen_to_port(end.rdma, end_port()));
  struct doca_buf* room = stage_room(&end.stage, 0, 100);
  end_receive(&end, room);
  const uint16_t port = end_port();
  uint8_t place[4 + sizeof port];
  CHECK_OK(doca_devinfo_get_ipv4_addr(doca_dev_as_devinfo(end.stage.dev), place, 4));
  memcpy(place + 4, &port, sizeof port);
  tell(line.to, place, sizeof place);
  ends_progress_until(&end, NULL, &end.seen.requests, 1);
  CHECK_OK(doca_rdma_connection_accept(end.connection, NULL, 0));
  ends_progress_until(&end, NULL, &end.seen.successes, 1);
  CHECK(end.seen.length == 7 && memcmp(end.stage.memory, "message", 7) == 0);
  ends_progress_until(&end, NULL, &end.seen.disconnected, 1);
  give_back(room);
  end_close(&end);
}

CASE(rdma_process, a_client_finds_its_server_by_address) {
  struct line line;
  const pid_t peer = start(serve_one_message, &line);
  struct end end;
  end_open(&end, 1);
  const struct told heard = hear(line.from);
  char text[16];
  (void)snprintf(text, sizeof text, "%d.%d.%d.%d", heard.bytes[0], heard.bytes[1], heard.bytes[2], heard.bytes[3]);
  uint16_t port = 0;
  memcpy(&port, heard.bytes + 4, sizeof port);
  struct doca_rdma_addr* address = NULL;
  CHECK_OK(doca_rdma_addr_create(DOCA_RDMA_ADDR_TYPE_IPv4, text, port, &address));
  CHECK_OK(doca_rdma_connect_to_addr(end.rdma, address, (union doca_data){.u64 = 5}));
  ends_progress_until(&end, NULL, &end.seen.established, 1);
  CHECK(end.seen.connection_data == 5);
  memcpy(end.stage.memory, "message", 7);
  struct doca_buf* src = stage_data(&end.stage, 0, 7);
  struct doca_rdma_task_send* send = NULL;
  CHECK_OK(doca_rdma_task_send_allocate_init(end.rdma, end.connection, src, (union doca_data){.u64 = 0}, &send));
  end_submit(doca_rdma_task_send_as_task(send));
  ends_progress_until(&end, NULL, &end.seen.successes, 1);
  CHECK_OK(doca_rdma_connection_disconnect(end.connection));
  ends_progress_until(&end, NULL, &end.seen.disconnected, 1);
  wait_for(peer);
  give_back(src);
  CHECK_OK(doca_rdma_addr_destroy(address));
  end_close(&end);
}

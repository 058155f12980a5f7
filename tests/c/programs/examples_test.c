// The programs of examples/c, with what they print: in one process on both sides, and in two in both orders.

#include "programs/program.h"

#include <stdio.h>
#include <unistd.h>

static void path_of(const char* side, const char* name, char* path, size_t size) {
  snprintf(path, size, "%s/%s_%s", EXAMPLES, side, name);
}

// The last line that it prints; its exit status must be 0.
static void expect_end(struct program* program, const char* expected) {
  char line[2048] = "";
  char last[2048] = "";
  FILE* out = fdopen(dup(program->out), "r");
  CHECK(out != NULL);
  while (fgets(line, sizeof line, out) != NULL) snprintf(last, sizeof last, "%s", line);
  fclose(out);
  last[strcspn(last, "\n")] = '\0';
  CHECK_EQUAL(wait_for_end(program), 0);
  CHECK_TEXT(last, expected);
  // A client of comch that waits for more than a second says so.
  CHECK_EQUAL(count_errors(program, ""), count_errors(program, "still waiting for a server"));
}

static void run_with(const char* const* arguments, const char* side, const char* name, const char* environment,
                     const char* expected) {
  char path[500];
  struct program program;
  begin_programs();
  path_of(side, name, path, sizeof path);
  start_program(&program, path, arguments, environment);
  expect_end(&program, expected);
  end_programs();
}

static void run_alone(const char* side, const char* name, const char* environment, const char* expected) {
  const char* arguments[] = {NULL};
  run_with(arguments, side, name, environment, expected);
}

static void run_on_both_sides(const char* name, const char* environment, const char* expected) {
  run_alone("host", name, environment, expected);
  run_alone("dpu", name, environment, expected);
}

CASE(examples, dma_copy) { run_on_both_sides("dma_copy", NULL, "This text was copied by DMA"); }

CASE(examples, graph_copy) { run_on_both_sides("graph_copy", NULL, "5 of 5 instances have succeeded"); }

CASE(examples, progress_engine_event) {
  run_on_both_sides("progress_engine_event", NULL, "16 tasks of 1048576 bytes have completed");
}

CASE(examples, sync_event_local) { run_on_both_sides("sync_event_local", NULL, "tasks: 0, then the wait has ended"); }

CASE(examples, copy_texts) {
  const char* flags[] = {"-q", "-t", "one", "--text=two", "-r", "4", NULL};
  const char* file[] = {"--json", EXAMPLE_OPTIONS, NULL};
  run_with(flags, "host", "copy_texts", NULL, "texts copied: 2");
  run_with(file, "dpu", "copy_texts", NULL, "texts copied: 2");
}

static void expect_refusal(const char* const* arguments, const char* error) {
  char path[500];
  struct program program;
  begin_programs();
  path_of("host", "copy_texts", path, sizeof path);
  start_program(&program, path, arguments, NULL);
  CHECK(wait_for_end(&program) > 0);
  CHECK_EQUAL(count_errors(&program, error), 1);
  end_programs();
}

CASE(examples, copy_texts_refuses_wrong_flags) {
  const char* unknown[] = {"-t", "one", "--rooms", "4", NULL};
  const char* missing[] = {"-r", "4", NULL};
  const char* wrong[] = {"-t", "one", "-r", "four", NULL};
  const char* together[] = {"-t", "three", "-r", "4", NULL};
  expect_refusal(unknown, "--rooms: there is no such flag");
  expect_refusal(missing, "--text: it is mandatory");
  expect_refusal(wrong, "-r: it takes a whole number");
  expect_refusal(together, "has no room in 4 bytes");
}

CASE(examples, sha_digest) {
  run_on_both_sides("sha_digest", "PYDOCA_PROFILE=bluefield2",
                    "pieces: 31e601dae872c765492bd93ce2e6e4a70af9a759dfa367a9fb9df7e6f53b9c47");
}

// The programs meet in a directory. The second one comes a little later.
static void run_pair(const char* first, const char* first_says, const char* second, const char* second_says) {
  struct program programs[2];
  char path[500];
  const char* directory = begin_programs();
  const char* arguments[] = {directory, NULL};
  snprintf(path, sizeof path, "%s/%s", EXAMPLES, first);
  start_program(&programs[0], path, arguments, NULL);
  usleep(300000);
  snprintf(path, sizeof path, "%s/%s", EXAMPLES, second);
  start_program(&programs[1], path, arguments, NULL);
  expect_end(&programs[0], first_says);
  expect_end(&programs[1], second_says);
  end_programs();
}

static const char copy_host[] = "host_dma_copy_host";
static const char copy_host_says[] = "the DPU has read: Hello from the host";
static const char copy_dpu[] = "dpu_dma_copy_dpu";
static const char copy_dpu_says[] = "read from the host: Hello from the host";

CASE(examples, dma_copy_remote_host_first) { run_pair(copy_host, copy_host_says, copy_dpu, copy_dpu_says); }

CASE(examples, dma_copy_remote_dpu_first) { run_pair(copy_dpu, copy_dpu_says, copy_host, copy_host_says); }

static const char comch_host[] = "host_comch_client";
static const char comch_host_says[] = "5 answers were received";
static const char comch_dpu[] = "dpu_comch_server";
static const char comch_dpu_says[] = "5 messages were answered";

CASE(examples, comch_client_first) { run_pair(comch_host, comch_host_says, comch_dpu, comch_dpu_says); }

CASE(examples, comch_server_first) { run_pair(comch_dpu, comch_dpu_says, comch_host, comch_host_says); }

static const char event_host[] = "host_sync_event_remote";
static const char event_host_says[] = "the DPU has answered: 42";
static const char event_dpu[] = "dpu_sync_event_remote";
static const char event_dpu_says[] = "the host has called";

CASE(examples, sync_event_remote_host_first) { run_pair(event_host, event_host_says, event_dpu, event_dpu_says); }

CASE(examples, sync_event_remote_dpu_first) { run_pair(event_dpu, event_dpu_says, event_host, event_host_says); }

static const char send_says[] = "sent: This text came by RDMA";
static const char receive_says[] = "received with the number 42: This text came by RDMA";

CASE(examples, rdma_send_first) { run_pair("host_rdma_send", send_says, "host_rdma_receive", receive_says); }

CASE(examples, rdma_receive_first) { run_pair("dpu_rdma_receive", receive_says, "dpu_rdma_send", send_says); }

static const char request_says[] = "the counter was 0";
static const char respond_says[] = "counter: 42, text: This text was written by RDMA";

CASE(examples, rdma_requester_first) {
  run_pair("host_rdma_requester", request_says, "host_rdma_responder", respond_says);
}

CASE(examples, rdma_responder_first) {
  run_pair("dpu_rdma_responder", respond_says, "dpu_rdma_requester", request_says);
}

/// Reads where the server listens: "listening: 10.0.0.1 13579".
static void read_address(const struct program* server, char address[32], char port[8]) {
  FILE* out = fdopen(dup(server->out), "r");
  CHECK(out != NULL);
  CHECK(fscanf(out, "listening: %31s %7s", address, port) == 2);
  fclose(out);
}

CASE(examples, rdma_address) {
  const char* nothing[] = {NULL};
  struct program server;
  struct program client;
  char path[500];
  char address[32];
  char port[8];
  begin_programs();
  path_of("host", "rdma_server", path, sizeof path);
  start_program(&server, path, nothing, NULL);
  read_address(&server, address, port);
  const char* arguments[] = {address, port, NULL};
  path_of("host", "rdma_client", path, sizeof path);
  start_program(&client, path, arguments, NULL);
  expect_end(&client, "sent: This text came to an address");
  expect_end(&server, "received with the number 42: This text came to an address");
  end_programs();
}

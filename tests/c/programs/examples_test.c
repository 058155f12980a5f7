// The programs of examples/c, with what they print: in one process on both sides, and in two in both orders.

#include "programs/program.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void path_of(const char* side, const char* name, char* path, size_t size) {
  snprintf(path, size, "%s/%s_%s", EXAMPLES, side, name);
}

// The last line that it prints; its exit status must be 0.
static void expect_last_line(struct program* program, const char* expected) {
  char line[2048] = "";
  char last[2048] = "";
  FILE* out = fdopen(dup(program->out), "r");
  CHECK(out != NULL);
  while (fgets(line, sizeof line, out) != NULL) snprintf(last, sizeof last, "%s", line);
  fclose(out);
  last[strcspn(last, "\n")] = '\0';
  const int status = wait_for_end(program);
  if (status != 0) print_errors(program);
  CHECK_EQUAL(status, 0);
  CHECK_TEXT(last, expected);
}

static void expect_end(struct program* program, const char* expected) {
  expect_last_line(program, expected);
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

CASE(examples, logger) {
  run_on_both_sides("logger", NULL, "messages in the file: 3, in the buffer: 1, of the SDK: 1");
}

CASE(examples, clock) { run_on_both_sides("clock", NULL, "the device's counter runs"); }

CASE(examples, cache_invalidate) {
  run_alone("dpu", "cache_invalidate", NULL, "65536 bytes were dropped from the caches");
}

// A host has no device for it.
CASE(examples, cache_invalidate_is_for_the_dpu) {
  const char* nothing[] = {NULL};
  char path[500];
  struct program program;
  begin_programs();
  path_of("host", "cache_invalidate", path, sizeof path);
  start_program(&program, path, nothing, NULL);
  CHECK(wait_for_end(&program) > 0);
  CHECK_EQUAL(count_errors(&program, "DOCA_ERROR_NOT_FOUND"), 1);
  end_programs();
}

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

struct part {
  const char* name;
  const char* says;
};

static void start_part(struct program* program, const struct part* part, const char* const* arguments) {
  char path[500];
  snprintf(path, sizeof path, "%s/%s", EXAMPLES, part->name);
  start_program(program, path, arguments, NULL);
}

// The programs meet in a directory. The second one comes a little later.
static void meet_in(const char* directory, const struct part* first, const struct part* second) {
  struct program programs[2];
  const char* arguments[] = {directory, NULL};
  start_part(&programs[0], first, arguments);
  usleep(300000);
  start_part(&programs[1], second, arguments);
  expect_end(&programs[0], first->says);
  expect_end(&programs[1], second->says);
}

static void run_pair(const struct part* first, const struct part* second) {
  meet_in(begin_programs(), first, second);
  end_programs();
}

// From a directory that they are told as "." and by a longer path.
static void run_pair_by_relative_paths(const struct part* first, const struct part* second) {
  char before[500];
  CHECK(getcwd(before, sizeof before) != NULL && chdir(begin_programs()) == 0 && mkdir("deep", 0700) == 0);
  meet_in(".", first, second);
  meet_in("./deep/../deep", second, first);
  CHECK(chdir(before) == 0);
  end_programs();
}

/// Waits until a program has written a file for the other one.
static void wait_for_files(const char* directory) {
  const long end = now() + 20000;
  for (int count = 0; count == 0; usleep(10000)) {
    DIR* entries = opendir(directory);
    CHECK(entries != NULL && now() < end);
    for (const struct dirent* entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
      const bool is_errors = strncmp(entry->d_name, "errors", 6) == 0;
      if (entry->d_type == DT_REG && !is_errors && strstr(entry->d_name, ".new") == NULL) count++;
    }
    closedir(entries);
  }
}

// In a directory with the files of programs that were killed. The errors about those are not counted.
static void run_pair_after_killed_ones(const struct part* first, const struct part* second) {
  struct program programs[2];
  const char* directory = begin_programs();
  const char* arguments[] = {directory, NULL};
  start_part(&programs[0], first, arguments);
  wait_for_files(directory);
  kill_program(&programs[0], SIGKILL);
  wait_for_end(&programs[0]);
  start_part(&programs[1], second, arguments);
  usleep(300000);
  start_part(&programs[0], first, arguments);
  expect_last_line(&programs[1], second->says);
  expect_last_line(&programs[0], first->says);
  end_programs();
}

static const struct part copy_host = {"host_dma_copy_host", "the DPU has read: Hello from the host"};
static const struct part copy_dpu = {"dpu_dma_copy_dpu", "read from the host: Hello from the host"};

CASE(examples, dma_copy_remote_host_first) { run_pair(&copy_host, &copy_dpu); }

CASE(examples, dma_copy_remote_dpu_first) { run_pair(&copy_dpu, &copy_host); }

static const struct part comch_host = {"host_comch_client", "5 answers were received"};
static const struct part comch_dpu = {"dpu_comch_server", "5 messages were answered"};

CASE(examples, comch_client_first) { run_pair(&comch_host, &comch_dpu); }

CASE(examples, comch_server_first) { run_pair(&comch_dpu, &comch_host); }

static const struct part event_host = {"host_sync_event_remote", "the DPU has answered: 42"};
static const struct part event_dpu = {"dpu_sync_event_remote", "the host has called"};

CASE(examples, sync_event_remote_host_first) { run_pair(&event_host, &event_dpu); }

CASE(examples, sync_event_remote_dpu_first) { run_pair(&event_dpu, &event_host); }

static const char send_says[] = "sent: This text came by RDMA";
static const char receive_says[] = "received with the number 42: This text came by RDMA";
static const char request_says[] = "the counter was 0";
static const char respond_says[] = "counter: 42, text: This text was written by RDMA";
static const char publish_says[] = "the event was 40";
static const char own_says[] = "the event has become 42";
static const struct part sender = {"host_rdma_send", send_says};
static const struct part receiver = {"host_rdma_receive", receive_says};
static const struct part requester = {"host_rdma_requester", request_says};
static const struct part responder = {"host_rdma_responder", respond_says};
static const struct part publisher = {"host_rdma_event_publisher", publish_says};
static const struct part owner = {"host_rdma_event_owner", own_says};
static const struct part dpu_sender = {"dpu_rdma_send", send_says};
static const struct part dpu_receiver = {"dpu_rdma_receive", receive_says};
static const struct part dpu_requester = {"dpu_rdma_requester", request_says};
static const struct part dpu_responder = {"dpu_rdma_responder", respond_says};
static const struct part dpu_publisher = {"dpu_rdma_event_publisher", publish_says};
static const struct part dpu_owner = {"dpu_rdma_event_owner", own_says};

CASE(examples, rdma_send_first) { run_pair(&sender, &receiver); }

CASE(examples, rdma_receive_first) { run_pair(&dpu_receiver, &dpu_sender); }

CASE(examples, rdma_requester_first) { run_pair(&requester, &responder); }

CASE(examples, rdma_responder_first) { run_pair(&dpu_responder, &dpu_requester); }

CASE(examples, rdma_event_publisher_first) { run_pair(&publisher, &owner); }

CASE(examples, rdma_event_owner_first) { run_pair(&dpu_owner, &dpu_publisher); }

// Either side may have either end.
CASE(examples, rdma_between_host_and_dpu) {
  run_pair(&sender, &dpu_receiver);
  run_pair(&dpu_requester, &responder);
  run_pair(&owner, &dpu_publisher);
}

CASE(examples, relative_paths) {
  run_pair_by_relative_paths(&copy_host, &copy_dpu);
  run_pair_by_relative_paths(&event_dpu, &event_host);
  run_pair_by_relative_paths(&sender, &receiver);
  run_pair_by_relative_paths(&responder, &requester);
  run_pair_by_relative_paths(&publisher, &owner);
}

CASE(examples, files_of_killed_programs_of_the_host) {
  run_pair_after_killed_ones(&copy_host, &copy_dpu);
  run_pair_after_killed_ones(&event_host, &event_dpu);
}

CASE(examples, files_of_killed_programs_with_rdma) {
  run_pair_after_killed_ones(&sender, &receiver);
  run_pair_after_killed_ones(&responder, &requester);
  run_pair_after_killed_ones(&owner, &publisher);
  run_pair_after_killed_ones(&publisher, &owner);
}

/// Reads where the server listens: "listening: 10.0.0.1 13579".
static void read_address(const struct program* server, char address[64], char port[8]) {
  FILE* out = fdopen(dup(server->out), "r");
  CHECK(out != NULL);
  CHECK(fscanf(out, "listening: %63s %7s", address, port) == 2);
  fclose(out);
}

static const struct part server = {"host_rdma_server", "received with the number 42: This text came to an address"};
static const struct part client = {"host_rdma_client", "sent: This text came to an address"};

CASE(examples, rdma_address_client_first) {
  struct program programs[3];
  const char* nothing[] = {NULL};
  char address[64];
  char port[8];
  begin_programs();
  start_part(&programs[0], &server, nothing);
  read_address(&programs[0], address, port);
  kill_program(&programs[0], SIGKILL);
  wait_for_end(&programs[0]);
  const char* place[] = {address, port, NULL};
  start_part(&programs[1], &client, place);
  usleep(300000);
  start_part(&programs[2], &server, nothing);
  expect_last_line(&programs[1], client.says);
  expect_last_line(&programs[2], server.says);
  end_programs();
}

CASE(examples, rdma_address_server_first) {
  struct program programs[2];
  const char* nothing[] = {NULL};
  char address[64];
  char port[8];
  begin_programs();
  start_part(&programs[0], &server, nothing);
  read_address(&programs[0], address, port);
  const char* place[] = {address, port, NULL};
  start_part(&programs[1], &client, place);
  expect_end(&programs[1], client.says);
  expect_end(&programs[0], server.says);
  end_programs();
}

CASE(examples, rdma_memory_by_address) {
  struct program programs[2];
  const char* directory = begin_programs();
  const char* there[] = {directory, "13581", NULL};
  char address[64];
  char port[8];
  start_part(&programs[0], &responder, there);
  read_address(&programs[0], address, port);
  const char* here[] = {directory, "This text was written by RDMA", address, port, NULL};
  start_part(&programs[1], &requester, here);
  expect_end(&programs[1], requester.says);
  expect_end(&programs[0], responder.says);
  end_programs();
}

CASE(examples, rdma_event_by_address) {
  struct program programs[2];
  const char* directory = begin_programs();
  const char* there[] = {directory, "13582", NULL};
  char address[64];
  char port[8];
  start_part(&programs[0], &owner, there);
  read_address(&programs[0], address, port);
  const char* here[] = {directory, address, port, NULL};
  start_part(&programs[1], &publisher, here);
  expect_end(&programs[1], publisher.says);
  expect_end(&programs[0], owner.says);
  end_programs();
}

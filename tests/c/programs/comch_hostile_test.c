// Comch with peers that break off, stand still, or send what no program of DOCA sends.

#include "programs/comch_pair.h"

#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { hello_time = 200000, largest = 4080 };  // microseconds in which a peer has surely sent its first message; bytes

static size_t num_bytes_to_send = 0;

/// Calls a socket, sends one packet unless it is to have no bytes, and leaves.
static int call_one(const char* path, const struct stat* status, int type, struct FTW* position) {
  static char bytes[largest];
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  (void)type;
  (void)position;
  if (!S_ISSOCK(status->st_mode)) return 0;
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  CHECK(connect(fd, (const struct sockaddr*)&address, sizeof address) == 0);
  memset(bytes, 'x', sizeof bytes);
  if (num_bytes_to_send > 0) CHECK(send(fd, bytes, num_bytes_to_send, 0) == (ssize_t)num_bytes_to_send);
  close(fd);
  return 0;
}

static void call_all(size_t length) {
  num_bytes_to_send = length;
  CHECK(nftw(getenv("PYDOCA_FABRIC_DIR"), call_one, 8, FTW_PHYS) == 0);
}

static unsigned long number_of(struct program* actor, const char* name) {
  char line[100];
  char command[40];
  unsigned long number = 0;
  snprintf(command, sizeof command, "comch %s", name);
  send_line(actor, command);
  read_line(actor, line, sizeof line);
  CHECK(sscanf(line, "DOCA_SUCCESS %lu", &number) == 1);
  return number;
}

static void kill_and_wait(struct program* program) {
  kill_program(program, SIGKILL);
  wait_for_end(program);
}

CASE(comch_hostile, callers_that_speak_no_comch_harm_nobody) {
  struct pair pair;
  pair_begin_linked(&pair);
  call_all(0);
  call_all(1);
  call_all(largest);
  ASK(&pair.dpu, "comch_until refused 2", "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch_echo", "DOCA_SUCCESS");
  send_line(&pair.dpu, "comch_until sent 3");
  ASK(&pair.host, "comch_send 3 4080", "DOCA_SUCCESS");
  ASK(&pair.host, "comch_until received 3", "DOCA_SUCCESS");
  EXPECT_LINE(&pair.dpu, "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch connected", "DOCA_SUCCESS 1");
  pair_end(&pair);
}

// It is killed while it waits for the answer of a server that does not progress.
CASE(comch_hostile, a_client_that_breaks_off_while_it_connects_harms_nobody) {
  struct pair pair;
  pair_begin(&pair);
  ASK(&pair.dpu, "comch_link", "DOCA_SUCCESS");
  ASK(&pair.host, "comch_link", "DOCA_ERROR_IN_PROGRESS");
  send_line(&pair.host, "comch_until state 2");
  usleep(hello_time);
  kill_and_wait(&pair.host);
  pair_replace_host(&pair, 1);
  ASK(&pair.dpu, "comch connected", "DOCA_SUCCESS 1");
  pair_end(&pair);
}

// The server has answered messages that the client has not read.
CASE(comch_hostile, a_client_that_breaks_off_between_messages_ends_its_tasks) {
  struct pair pair;
  pair_begin_linked(&pair);
  ASK(&pair.dpu, "comch_echo", "DOCA_SUCCESS");
  ASK(&pair.host, "comch_send 32 4080", "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch_until received 8", "DOCA_SUCCESS");
  kill_and_wait(&pair.host);
  ASK(&pair.dpu, "comch_until disconnected 1", "DOCA_SUCCESS");
  CHECK_EQUAL(number_of(&pair.dpu, "completed"), number_of(&pair.dpu, "echoed"));
  ASK(&pair.dpu, "comch state", "DOCA_SUCCESS 2");
  ASK(&pair.dpu, "comch wrong", "DOCA_SUCCESS 0");
  quit(&pair.dpu);
  end_programs();
}

static void kill_server_that_connects(bool client_is_first) {
  struct pair pair;
  pair_begin(&pair);
  if (!client_is_first) ASK(&pair.dpu, "comch_link", "DOCA_SUCCESS");
  ASK(&pair.host, "comch_link", "DOCA_ERROR_IN_PROGRESS");
  send_line(&pair.host, "comch_until state 2");
  if (client_is_first) {
    usleep(hello_time);
    ASK(&pair.dpu, "comch_link", "DOCA_SUCCESS");
  }
  usleep(hello_time);
  kill_and_wait(&pair.dpu);
  start_actor(&pair.dpu, "dpu");
  ASK(&pair.dpu, "comch_link", "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch_until connected", "DOCA_SUCCESS");
  EXPECT_LINE(&pair.host, "DOCA_SUCCESS");
  pair_end(&pair);
}

CASE(comch_hostile, a_server_that_is_killed_while_it_connects_has_a_successor) { kill_server_that_connects(false); }

CASE(comch_hostile, a_server_that_starts_late_and_is_killed_has_a_successor) { kill_server_that_connects(true); }

CASE(comch_hostile, a_client_that_is_stopped_while_it_connects_delays_no_other) {
  struct pair pair;
  struct program second;
  pair_begin(&pair);
  ASK(&pair.dpu, "comch_link", "DOCA_SUCCESS");
  ASK(&pair.host, "comch_link", "DOCA_ERROR_IN_PROGRESS");
  send_line(&pair.host, "comch_until state 2");
  usleep(hello_time);
  kill_program(&pair.host, SIGSTOP);
  start_actor(&second, "host");
  ASK(&second, "comch_link", "DOCA_ERROR_IN_PROGRESS");
  send_line(&pair.dpu, "comch_until connected 2");
  ASK(&second, "comch_until state 2", "DOCA_SUCCESS");
  EXPECT_LINE(&pair.dpu, "DOCA_SUCCESS");
  kill_program(&pair.host, SIGCONT);
  EXPECT_LINE(&pair.host, "DOCA_SUCCESS");
  quit(&second);
  pair_end(&pair);
}

CASE(comch_hostile, a_stopped_client_does_not_hold_the_server) {
  struct pair pair;
  pair_begin_linked(&pair);
  ASK(&pair.dpu, "comch_send 32 4080", "DOCA_SUCCESS");
  kill_program(&pair.host, SIGSTOP);
  ASK(&pair.dpu, "comch_stop", "DOCA_ERROR_IN_PROGRESS");
  ASK(&pair.dpu, "comch_until state 0", "DOCA_SUCCESS");
  ASK(&pair.dpu, "comch completed", "DOCA_SUCCESS 32");
  kill_program(&pair.host, SIGCONT);
  ASK(&pair.host, "comch_until state 0", "DOCA_SUCCESS");
  pair_end(&pair);
}

CASE(comch_hostile, a_stopped_server_does_not_hold_the_client) {
  struct pair pair;
  pair_begin_linked(&pair);
  ASK(&pair.host, "comch_send 32 4080", "DOCA_SUCCESS");
  kill_program(&pair.dpu, SIGSTOP);
  ASK(&pair.host, "comch_stop", "DOCA_ERROR_IN_PROGRESS");
  ASK(&pair.host, "comch_until state 0", "DOCA_SUCCESS");
  ASK(&pair.host, "comch completed", "DOCA_SUCCESS 32");
  kill_program(&pair.dpu, SIGCONT);
  ASK(&pair.dpu, "comch_until disconnected 1", "DOCA_SUCCESS");
  pair_end(&pair);
}

/// A machine whose DPU serves one client.
static void write_machine(const char* directory, char* environment, size_t size) {
  char path[300];
  snprintf(path, sizeof path, "%s/machine.toml", directory);
  FILE* file = fopen(path, "w");
  CHECK(file != NULL);
  fputs(
      "[[function]]\nname = 'p0'\npci_addr = '03:00.0'\nside = 'dpu'\ncapabilities = {comch = {max_clients = 1}}\n"
      "[[function]]\nname = 'pf0'\npci_addr = '0b:00.0'\nside = 'host'\nparent = 'p0'\nrepresentor = 'pf0hpf'\n",
      file);
  CHECK(fclose(file) == 0);
  snprintf(environment, size, "PYDOCA_TOPOLOGY=%s", path);
}

// It becomes idle. The log says the code, once, and why.
CASE(comch_hostile, a_client_that_is_refused_may_come_again) {
  struct pair pair;
  struct program second;
  char environment[400];
  write_machine(begin_programs(), environment, sizeof environment);
  start_bare_actor(&pair.dpu, "dpu", environment);
  ASK(&pair.dpu, "open 03:00.0", "DOCA_SUCCESS");
  start_actor(&pair.host, "host");
  start_actor(&second, "host");
  ASK(&pair.dpu, "comch_link", "DOCA_SUCCESS");
  ASK(&pair.host, "comch_link", "DOCA_ERROR_IN_PROGRESS");
  pair_meet(&pair);
  ASK(&second, "comch_link", "DOCA_ERROR_IN_PROGRESS");
  send_line(&pair.dpu, "comch_until received 1");
  ASK(&second, "comch_until state 0", "DOCA_SUCCESS");
  ASK(&pair.host, "comch_send 1 10", "DOCA_SUCCESS");
  EXPECT_LINE(&pair.dpu, "DOCA_SUCCESS");
  CHECK_EQUAL(count_errors(&second, "refused this client: DOCA_ERROR_FULL: the server has as many clients"), 1);
  CHECK_EQUAL(count_errors(&second, ""), 1 + count_errors(&second, "client_get_connection"));
  CHECK_EQUAL(count_errors(&pair.dpu, "refused a client"), 1);
  ASK(&second, "comch_send 1 1", "DOCA_ERROR_BAD_STATE");
  kill_and_wait(&pair.host);
  ASK(&pair.dpu, "comch_until disconnected 1", "DOCA_SUCCESS");
  ASK(&second, "comch_start", "DOCA_ERROR_IN_PROGRESS");
  send_line(&pair.dpu, "comch_until connected 2");
  ASK(&second, "comch_until state 2", "DOCA_SUCCESS");
  EXPECT_LINE(&pair.dpu, "DOCA_SUCCESS");
  quit(&second);
  quit(&pair.dpu);
  end_programs();
}

/// What an example prints ends with this. It may print bytes that are not text.
static void expect_last_words(struct program* example, const char* expected) {
  static char text[200000];
  size_t length = 0;
  for (ssize_t size = 1; size > 0 && length < sizeof text; length += (size_t)size) {
    size = read(example->out, text + length, sizeof text - length);
    CHECK(size >= 0);
  }
  const size_t wanted = strlen(expected);
  CHECK(length >= wanted && memcmp(text + length - wanted, expected, wanted) == 0);
  CHECK_EQUAL(wait_for_end(example), 0);
}

static void start_example(struct program* example, const char* name) {
  const char* arguments[] = {"pair", NULL};
  char path[500];
  snprintf(path, sizeof path, "%s/%s", EXAMPLES, name);
  start_program(example, path, arguments, NULL);
}

// The examples print what they receive, and the pipe holds that. No message has a NUL.
static void send_to_server(bool client_is_first) {
  struct program server;
  struct program client;
  begin_programs();
  if (!client_is_first) start_example(&server, "dpu_comch_server");
  start_actor(&client, "host");
  ASK(&client, "comch_link", "DOCA_ERROR_IN_PROGRESS");
  if (client_is_first) start_example(&server, "dpu_comch_server");
  ASK(&client, "comch_until state 2", "DOCA_SUCCESS");
  ASK(&client, "comch_send 3 4080", "DOCA_SUCCESS");
  ASK(&client, "comch_until received 3", "DOCA_SUCCESS");
  quit(&client);
  expect_last_words(&server, "3 messages were answered\n");
  end_programs();
}

CASE(comch_hostile, texts_without_an_end_harm_no_server) { send_to_server(false); }

CASE(comch_hostile, texts_without_an_end_harm_no_server_that_starts_late) { send_to_server(true); }

static void send_to_client(bool client_is_first) {
  struct program server;
  struct program client;
  begin_programs();
  if (client_is_first) start_example(&client, "host_comch_client");
  start_actor(&server, "dpu");
  ASK(&server, "comch_link", "DOCA_SUCCESS");
  if (!client_is_first) start_example(&client, "host_comch_client");
  ASK(&server, "comch_until connected", "DOCA_SUCCESS");
  ASK(&server, "comch_send 5 4080", "DOCA_SUCCESS");
  ASK(&server, "comch_until disconnected 1", "DOCA_SUCCESS");
  expect_last_words(&client, "5 answers were received\n");
  quit(&server);
  end_programs();
}

CASE(comch_hostile, texts_without_an_end_harm_no_client) { send_to_client(true); }

CASE(comch_hostile, texts_without_an_end_harm_no_client_that_starts_late) { send_to_client(false); }

/// How many of its mappings and open files are in the shared memory of the machine.
static int count_shared_memory(const struct program* program) {
  char command[200];
  int count = -1;
  snprintf(command, sizeof command, "{ cat /proc/%d/maps; ls -l /proc/%d/fd; } | grep -c /dev/shm", (int)program->pid,
           (int)program->pid);
  FILE* out = popen(command, "r");
  CHECK(out != NULL && fscanf(out, "%d", &count) == 1);
  pclose(out);
  return count;
}

CASE(comch_hostile, no_process_has_files_that_outlive_it) {
  struct pair pair;
  pair_begin_linked(&pair);
  ASK(&pair.host, "lend malloc rw", "DOCA_SUCCESS");
  ASK(&pair.dpu, "import", "DOCA_SUCCESS");
  ASK(&pair.dpu, "read h", "DOCA_SUCCESS");
  CHECK_EQUAL(count_shared_memory(&pair.host), 0);
  CHECK_EQUAL(count_shared_memory(&pair.dpu), 0);
  kill_and_wait(&pair.host);
  ASK(&pair.dpu, "comch_until disconnected 1", "DOCA_SUCCESS");
  quit(&pair.dpu);
  end_programs();
}

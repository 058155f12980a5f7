#include "programs/program.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { max_programs = 8, patience = 30000 };

static char directory[200];
static struct program* running[max_programs];
static int num_running = 0;
static int num_started = 0;
static int num_left = 0;

long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (long)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static int remove_entry(const char* path, const struct stat* status, int type, struct FTW* position) {
  (void)status;
  (void)type;
  (void)position;
  return remove(path);
}

static int count_entry(const char* path, const struct stat* status, int type, struct FTW* position) {
  (void)type;
  (void)position;
  if (S_ISSOCK(status->st_mode)) {
    fprintf(stderr, "left behind: %s\n", path);
    num_left++;
  }
  return 0;
}

// Also where a case fails, which ends the process.
static void clean_up(void) {
  for (int i = 0; i < num_running; i++) {
    kill(running[i]->pid, SIGKILL);
    waitpid(running[i]->pid, NULL, 0);
  }
  num_running = 0;
  if (directory[0] != '\0') nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
  directory[0] = '\0';
}

const char* begin_programs(void) {
  static bool is_registered = false;
  const char* place = getenv("TMPDIR");
  if (!is_registered) atexit(clean_up);
  is_registered = true;
  snprintf(directory, sizeof directory, "%s/c_pair_XXXXXX", place != NULL ? place : "/tmp");
  CHECK(mkdtemp(directory) != NULL);
  CHECK(setenv("PYDOCA_FABRIC_DIR", directory, 1) == 0);
  return directory;
}

void end_programs(void) {
  for (int i = 0; i < num_running; i++) {
    kill(running[i]->pid, SIGKILL);
    waitpid(running[i]->pid, NULL, 0);
  }
  num_running = 0;
  num_left = 0;
  nftw(directory, count_entry, 8, FTW_PHYS);
  clean_up();
  CHECK_EQUAL(num_left, 0);
}

static void become(const char* path, const char* const* arguments, const char* environment, const int* in,
                   const int* out, const char* errors) {
  const char* line[8] = {path};
  for (int i = 0; i < 6 && arguments[i] != NULL; i++) line[i + 1] = arguments[i];
  const int error_fd = open(errors, O_WRONLY | O_CREAT | O_APPEND, 0600);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(in[0], 0);
  dup2(out[1], 1);
  dup2(error_fd, 2);
  if (environment != NULL) putenv((char*)(uintptr_t)environment);
  execv(path, (char* const*)(uintptr_t)line);
  _exit(127);
}

void start_program(struct program* program, const char* path, const char* const* arguments, const char* environment) {
  int in[2];
  int out[2];
  CHECK(num_running < max_programs);
  CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
  snprintf(program->errors, sizeof program->errors, "%s/errors-%d", directory, num_started++);
  program->pid = fork();
  if (program->pid == 0) become(path, arguments, environment, in, out, program->errors);
  CHECK(program->pid > 0);
  close(in[0]);
  close(out[1]);
  program->in = in[1];
  program->out = out[0];
  running[num_running++] = program;
}

void print_errors(const struct program* program) {
  char text[4096];
  const int fd = open(program->errors, O_RDONLY);
  const ssize_t length = fd >= 0 ? read(fd, text, sizeof text) : 0;
  if (length > 0) fprintf(stderr, "%.*s", (int)length, text);
  if (fd >= 0) close(fd);
}

void read_line(struct program* program, char* line, size_t size) {
  size_t length = 0;
  const long end = now() + patience;
  while (length + 1 < size) {
    struct pollfd one = {.fd = program->out, .events = POLLIN};
    const long left = end - now();
    if (left <= 0 || poll(&one, 1, (int)left) <= 0 || read(program->out, line + length, 1) != 1) {
      print_errors(program);
      c_case_fail(__FILE__, __LINE__, "process %d does not answer", (int)program->pid);
    }
    if (line[length] == '\n') break;
    length++;
  }
  line[length] = '\0';
}

void send_line(struct program* program, const char* line) { CHECK(dprintf(program->in, "%s\n", line) > 0); }

void expect_line(struct program* program, const char* expected, const char* file, int line) {
  char got[2048];
  read_line(program, got, sizeof got);
  if (strcmp(got, expected) == 0) return;
  print_errors(program);
  c_case_fail(file, line, "the answer is \"%s\", not \"%s\"", got, expected);
}

void ask(struct program* program, const char* command, const char* expected, const char* file, int line) {
  char got[2048];
  send_line(program, command);
  read_line(program, got, sizeof got);
  if (strcmp(got, expected) == 0) return;
  print_errors(program);
  c_case_fail(file, line, "%s: \"%s\", not \"%s\"", command, got, expected);
}

void start_bare_actor(struct program* actor, const char* side, const char* environment) {
  const char* arguments[] = {directory, NULL};
  start_program(actor, strcmp(side, "host") == 0 ? HOST_ACTOR : DPU_ACTOR, arguments, environment);
  EXPECT_LINE(actor, "DOCA_SUCCESS");
}

void start_actor(struct program* actor, const char* side) {
  start_bare_actor(actor, side, NULL);
  ASK(actor, strcmp(side, "host") == 0 ? "open 0b:00.0" : "open 03:00.0", "DOCA_SUCCESS");
}

void kill_program(struct program* program, int signal) {
  CHECK(kill(program->pid, signal) == 0);
  // The threads of a process stop one after the other.
  if (signal == SIGSTOP) CHECK(waitpid(program->pid, NULL, WUNTRACED) == program->pid);
}

int wait_for_end(struct program* program) {
  const struct timespec pause = {.tv_nsec = 5000000};
  const long end = now() + patience;
  int status = 0;
  while (waitpid(program->pid, &status, WNOHANG) == 0) {
    CHECK(now() < end);
    nanosleep(&pause, NULL);
  }
  for (int i = 0; i < num_running; i++) {
    if (running[i] == program) running[i] = running[--num_running];
  }
  close(program->in);
  close(program->out);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void quit(struct program* actor) {
  ASK(actor, "quit", "DOCA_SUCCESS");
  CHECK_EQUAL(wait_for_end(actor), 0);
}

int count_errors(const struct program* program, const char* text) {
  char line[2048];
  int count = 0;
  FILE* file = fopen(program->errors, "r");
  CHECK(file != NULL);
  while (fgets(line, sizeof line, file) != NULL) {
    if (strstr(line, text) != NULL) count++;
  }
  fclose(file);
  return count;
}

void change_byte(const char* name, long offset) {
  char path[300];
  unsigned char byte = 0;
  snprintf(path, sizeof path, "%s/%s", directory, name);
  const int fd = open(path, O_RDWR);
  CHECK(fd >= 0 && pread(fd, &byte, 1, offset) == 1);
  byte ^= 0xff;
  CHECK(pwrite(fd, &byte, 1, offset) == 1);
  close(fd);
}

void shorten(const char* name, long length) {
  char path[300];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  CHECK(truncate(path, length) == 0);
}

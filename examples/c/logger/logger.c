// Logs the messages of the program to a file and to a buffer, and those of the SDK to another file, each with a level
// of its own. logger [FILE]

#include "common.h"

#include <doca_log.h>
#include <stdbool.h>
#include <stdio.h>

DOCA_LOG_REGISTER(EXAMPLES::LOGGER);

enum { record_size = 256 };

// What the buffer's backend has shown.
static int num_records = 0;
static char last_record[record_size];

static void note(char* buffer) {
  num_records++;
  snprintf(last_record, sizeof last_record, "%s", buffer);
}

static int count_lines(FILE* file) {
  int count = 0;
  rewind(file);
  for (int c = fgetc(file); c != EOF; c = fgetc(file)) count += c == '\n' ? 1 : 0;
  return count;
}

struct files {
  FILE* program;
  FILE* sdk;
};

static doca_error_t add_backends(const struct files* files, char* buffer) {
  struct doca_log_backend* to_file = NULL;
  struct doca_log_backend* to_buffer = NULL;
  struct doca_log_backend* of_sdk = NULL;
  doca_error_t result = doca_log_backend_create_with_file(files->program, &to_file);
  if (result == DOCA_SUCCESS) result = doca_log_backend_set_level_lower_limit(to_file, DOCA_LOG_LEVEL_DEBUG);
  if (result == DOCA_SUCCESS) result = doca_log_backend_create_with_buf(buffer, record_size, note, &to_buffer);
  if (result == DOCA_SUCCESS) result = doca_log_backend_set_level_lower_limit(to_buffer, DOCA_LOG_LEVEL_WARNING);
  if (result == DOCA_SUCCESS) result = doca_log_backend_create_with_file_sdk(files->sdk, &of_sdk);
  return result == DOCA_SUCCESS ? doca_log_backend_set_sdk_level(of_sdk, DOCA_LOG_LEVEL_ERROR) : result;
}

static void log_messages(void) {
  struct doca_dev* dev = NULL;
  DOCA_LOG_DBG("A message for those who look for a mistake");
  DOCA_LOG_INFO("A message for the user");
  DOCA_LOG_WARN("A warning");
  (void)doca_dev_open(NULL, &dev);  // the SDK says what is wrong with it
}

static doca_error_t run(const struct files* files) {
  static char buffer[record_size];
  const doca_error_t result = add_backends(files, buffer);
  if (result != DOCA_SUCCESS) return result;
  log_messages();
  printf("the buffer's last message: %s\n", last_record);
  printf("messages in the file: %d, in the buffer: %d, of the SDK: %d\n", count_lines(files->program), num_records,
         count_lines(files->sdk));
  return DOCA_SUCCESS;
}

int main(int argc, char** argv) {
  struct files files = {.program = argc > 1 ? fopen(argv[1], "w+") : tmpfile(), .sdk = tmpfile()};
  const bool is_open = files.program != NULL && files.sdk != NULL;
  return exit_status("logger", is_open ? run(&files) : DOCA_ERROR_IO_FAILED);
}

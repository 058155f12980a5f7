#include "files.h"

#include <stdio.h>
#include <time.h>

void path_in(const char* directory, const char* name, char* path, size_t size) {
  snprintf(path, size, "%s/%s", directory, name);
}

doca_error_t write_file(const char* path, const void* bytes, size_t length) {
  char unfinished[512];
  snprintf(unfinished, sizeof unfinished, "%s.new", path);
  FILE* file = fopen(unfinished, "wb");
  if (file == NULL) return DOCA_ERROR_IO_FAILED;
  const size_t written = fwrite(bytes, 1, length, file);
  const int is_closed = fclose(file) == 0;
  if (written != length || !is_closed || rename(unfinished, path) != 0) return DOCA_ERROR_IO_FAILED;
  return DOCA_SUCCESS;
}

doca_error_t read_file(const char* path, int seconds, void* bytes, size_t size, size_t* length) {
  const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
  FILE* file = NULL;
  for (int look = 0; look < seconds * 100 && file == NULL; look++) {
    file = fopen(path, "rb");
    if (file == NULL) nanosleep(&pause, NULL);
  }
  if (file == NULL) return DOCA_ERROR_TIME_OUT;
  *length = fread(bytes, 1, size, file);
  const int is_whole = *length < size || fgetc(file) == EOF;
  fclose(file);
  return is_whole ? DOCA_SUCCESS : DOCA_ERROR_TOO_BIG;
}

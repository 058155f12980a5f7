#include "descriptors.h"

#include "files.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

doca_error_t write_descriptors(const char* directory, const void* export_desc, size_t export_len, const char* address,
                               size_t length) {
  char path[512];
  char text[64];
  path_in(directory, "export", path, sizeof path);
  const doca_error_t result = write_file(path, export_desc, export_len);
  if (result != DOCA_SUCCESS) return result;
  const int text_len = snprintf(text, sizeof text, "%" PRIuPTR "\n%zu\n", (uintptr_t)address, length);
  path_in(directory, "range", path, sizeof path);
  return write_file(path, text, (size_t)text_len);
}

void remove_descriptors(const char* directory) {
  static const char* const names[] = {"export", "range", "done"};
  char path[512];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    path_in(directory, names[i], path, sizeof path);
    remove(path);
  }
}

doca_error_t read_descriptors(const char* directory, int seconds, struct descriptors* descriptors) {
  char path[512];
  char text[64] = {0};
  size_t text_len = 0;
  uintptr_t address = 0;
  path_in(directory, "export", path, sizeof path);
  doca_error_t result =
      read_file(path, seconds, descriptors->export_desc, sizeof descriptors->export_desc, &descriptors->export_len);
  if (result != DOCA_SUCCESS) return result;
  path_in(directory, "range", path, sizeof path);
  result = read_file(path, seconds, text, sizeof text - 1, &text_len);
  if (result != DOCA_SUCCESS) return result;
  if (sscanf(text, "%" SCNuPTR " %zu", &address, &descriptors->length) != 2) return DOCA_ERROR_INVALID_VALUE;
  descriptors->address = (char*)address;
  return DOCA_SUCCESS;
}

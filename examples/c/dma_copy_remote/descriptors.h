// The two files by which the host tells the DPU about its memory: the export of the map, and the range of addresses.
#ifndef EXAMPLES_DESCRIPTORS_H_
#define EXAMPLES_DESCRIPTORS_H_

#include <doca_error.h>
#include <stddef.h>

// Room for the export of a map.
#define EXPORT_SIZE 1024

struct descriptors {
  char export_desc[EXPORT_SIZE];
  size_t export_len;
  char* address;  // the host's; the DPU never reads it by its processor
  size_t length;
};

// directory: the one that both sides know.
doca_error_t write_descriptors(const char* directory, const void* export_desc, size_t export_len, const char* address,
                               size_t length);
// Removes the files, those of an earlier run too.
void remove_descriptors(const char* directory);
// Waits for the files for so many seconds, else DOCA_ERROR_TIME_OUT.
doca_error_t read_descriptors(const char* directory, int seconds, struct descriptors* descriptors);

#endif

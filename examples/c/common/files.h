// Files by which two programs exchange what DOCA exports.
#ifndef EXAMPLES_FILES_H_
#define EXAMPLES_FILES_H_

#include <doca_error.h>
#include <stddef.h>

// The path of a file of the directory that both programs know.
void path_in(const char* directory, const char* name, char* path, size_t size);

// Writes a file as a whole: it never exists with a part of its content.
doca_error_t write_file(const char* path, const void* bytes, size_t length);
// Reads a file of at most size bytes; waits for it to exist for so many seconds, else DOCA_ERROR_TIME_OUT.
doca_error_t read_file(const char* path, int seconds, void* bytes, size_t size, size_t* length);

#endif

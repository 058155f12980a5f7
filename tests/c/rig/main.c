#include "rig/case.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct c_case* first;

void c_case_register(struct c_case* added) {
  added->next = first;
  first = added;
}

void c_case_fail(const char* file, int line, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s:%d: ", file, line);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

/// Runs the case of that name; every case without one.
int main(int argc, char** argv) {
  setenv("XDG_RUNTIME_DIR", C_TEST_DIRECTORY, 1);
  char fabric[32];  // a fabric of its own: other cases that run now listen at the same ports
  snprintf(fabric, sizeof fabric, "c%ld", (long)getpid());
  setenv("PYDOCA_FABRIC", fabric, 0);
  int count = 0;
  for (const struct c_case* one = first; one != NULL; one = one->next) {
    if (argc < 2 || strcmp(argv[1], one->name) == 0) {
      one->run();
      ++count;
    }
  }
  if (count == 0) {
    fprintf(stderr, "no case has the name %s\n", argv[1]);
  }
  return count == 0 ? 1 : 0;
}

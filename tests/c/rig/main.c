#include "rig/case.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct c_case* first;
static const struct c_case* running;

void c_case_register(struct c_case* added) {
  added->next = first;
  first = added;
}

void c_case_fail(const char* file, int line, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "%s: %s:%d: ", running != NULL ? running->name : "", file, line);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

/// Whether the words name the case, or its noun, or there are none.
static bool is_chosen(const struct c_case* one, int num_words, char** words) {
  for (int i = 0; i < num_words; ++i) {
    const size_t length = strlen(words[i]);
    const bool begins = strncmp(one->name, words[i], length) == 0;
    if (begins && (one->name[length] == '\0' || one->name[length] == '.')) return true;
  }
  return num_words == 0;
}

/// Runs the cases that are named, or whose nouns are; every case without a name.
int main(int argc, char** argv) {
  setenv("XDG_RUNTIME_DIR", C_TEST_DIRECTORY, 1);
  char fabric[32];  // a fabric of its own: other cases that run now listen at the same ports
  snprintf(fabric, sizeof fabric, "c%ld", (long)getpid());
  setenv("PYDOCA_FABRIC", fabric, 0);
  int count = 0;
  for (const struct c_case* one = first; one != NULL; one = one->next) {
    if (is_chosen(one, argc - 1, argv + 1)) {
      running = one;
      one->run();
      ++count;
    }
  }
  if (count == 0) {
    fprintf(stderr, "no case has the name %s\n", argv[1]);
  }
  return count == 0 ? 1 : 0;
}

#include "rig/allocations.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

// glibc's own, behind the functions that this file replaces in the whole process. C++'s operator new calls these.
void* __libc_malloc(size_t size);                      // NOLINT(bugprone-reserved-identifier)
void* __libc_calloc(size_t count, size_t size);        // NOLINT(bugprone-reserved-identifier)
void* __libc_realloc(void* memory, size_t size);       // NOLINT(bugprone-reserved-identifier)
void* __libc_memalign(size_t alignment, size_t size);  // NOLINT(bugprone-reserved-identifier)

static atomic_size_t taken;

size_t allocations(void) { return atomic_load(&taken); }

void* malloc(size_t size) {
  atomic_fetch_add(&taken, 1);
  return __libc_malloc(size);
}

void* calloc(size_t count, size_t size) {
  atomic_fetch_add(&taken, 1);
  return __libc_calloc(count, size);
}

void* realloc(void* memory, size_t size) {
  atomic_fetch_add(&taken, 1);
  return __libc_realloc(memory, size);
}

void* aligned_alloc(size_t alignment, size_t size) {
  atomic_fetch_add(&taken, 1);
  return __libc_memalign(alignment, size);
}

int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = aligned_alloc(alignment, size);
  return *memory != NULL ? 0 : ENOMEM;
}

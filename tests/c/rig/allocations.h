#ifndef TESTS_C_ALLOCATIONS_H
#define TESTS_C_ALLOCATIONS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// How often the process has taken memory by operator new.
size_t allocations(void);

#ifdef __cplusplus
}
#endif

#endif  // TESTS_C_ALLOCATIONS_H

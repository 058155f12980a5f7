#ifndef TESTS_C_ALLOCATIONS_H_
#define TESTS_C_ALLOCATIONS_H_

#include <stddef.h>

/// How often the process has taken memory by malloc() and its kin, or by C++'s operator new.
size_t allocations(void);

#endif  // TESTS_C_ALLOCATIONS_H_

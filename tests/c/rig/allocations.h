#ifndef TESTS_C_ALLOCATIONS_H
#define TESTS_C_ALLOCATIONS_H

#include <stddef.h>

/// How often the process has taken memory by malloc() and its kin, or by C++'s operator new.
size_t allocations(void);

#endif  // TESTS_C_ALLOCATIONS_H

#ifndef TESTS_C_MAP_H
#define TESTS_C_MAP_H

#include <doca_dev.h>
#include <doca_mmap.h>
#include <stddef.h>

/// A started map of the range on dev, with local reading and writing.
struct doca_mmap* start_map(struct doca_dev* dev, void* addr, size_t len);

#endif  // TESTS_C_MAP_H

#ifndef TESTS_C_MAP_H
#define TESTS_C_MAP_H

#include <doca_dev.h>
#include <doca_mmap.h>
#include <stddef.h>
#include <stdint.h>

/// A started map of the range on dev, with local reading and writing.
struct doca_mmap* start_map(struct doca_dev* dev, void* addr, size_t len);

/// The same with other permissions.
struct doca_mmap* map_memory(struct doca_dev* dev, void* addr, size_t len, uint32_t permissions);

#endif  // TESTS_C_MAP_H

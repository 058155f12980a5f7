#include "rig/map.h"

#include "rig/case.h"

struct doca_mmap* map_memory(struct doca_dev* dev, void* addr, size_t len, uint32_t permissions) {
  struct doca_mmap* map = NULL;
  CHECK_OK(doca_mmap_create(&map));
  CHECK_OK(doca_mmap_set_memrange(map, addr, len));
  CHECK_OK(doca_mmap_add_dev(map, dev));
  CHECK_OK(doca_mmap_set_permissions(map, permissions));
  CHECK_OK(doca_mmap_start(map));
  return map;
}

struct doca_mmap* start_map(struct doca_dev* dev, void* addr, size_t len) {
  return map_memory(dev, addr, len, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE);
}

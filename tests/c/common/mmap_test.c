#include "rig/case.h"
#include "rig/device.h"
#include "rig/map.h"
#include "rig/side.h"

#include <stdlib.h>
#include <string.h>

static char memory[4096];

struct seen {
  void* addr;
  size_t len;
  int count;
};

static void note(void* addr, size_t len, void* opaque) {
  struct seen* seen = opaque;
  seen->addr = addr;
  seen->len = len;
  ++seen->count;
}

CASE(mmap, the_free_callback_comes_once_at_destruction) {
  struct doca_dev* dev = open_first_device();
  struct doca_mmap* map = NULL;
  struct seen seen = {0};
  CHECK_OK(doca_mmap_create(&map));
  CHECK_OK(doca_mmap_set_memrange(map, memory, sizeof memory));
  CHECK_OK(doca_mmap_set_free_cb(map, note, &seen));
  CHECK_OK(doca_mmap_add_dev(map, dev));
  CHECK_OK(doca_mmap_start(map));
  CHECK_OK(doca_mmap_stop(map));
  CHECK(seen.count == 0);
  CHECK_OK(doca_mmap_destroy(map));
  CHECK(seen.count == 1 && seen.addr == memory && seen.len == sizeof memory);
  CHECK_INVALID(doca_mmap_destroy(map));
  CHECK_OK(doca_dev_close(dev));
}

CASE(mmap, the_free_callback_needs_a_start) {
  struct doca_mmap* map = NULL;
  struct seen seen = {0};
  CHECK_OK(doca_mmap_create(&map));
  CHECK_OK(doca_mmap_set_memrange(map, memory, sizeof memory));
  CHECK_OK(doca_mmap_set_free_cb(map, note, &seen));
  CHECK_OK(doca_mmap_destroy(map));
  CHECK(seen.count == 0);
}

CASE(mmap, a_range_is_for_life) {
  struct doca_dev* dev = open_first_device();
  struct doca_mmap* map = NULL;
  void* addr = NULL;
  size_t len = 0;
  CHECK_OK(doca_mmap_create(&map));
  CHECK_INVALID(doca_mmap_get_memrange(map, &addr, &len));
  CHECK_INVALID(doca_mmap_set_memrange(map, NULL, 1));
  CHECK_INVALID(doca_mmap_set_memrange(map, memory, 0));
  CHECK_INVALID(doca_mmap_set_memrange(map, memory, SIZE_MAX));
  CHECK_INVALID(doca_mmap_start(map));
  CHECK_OK(doca_mmap_set_memrange(map, memory, sizeof memory));
  CHECK_STATUS(doca_mmap_set_memrange(map, memory, sizeof memory), DOCA_ERROR_NOT_PERMITTED);
  CHECK_INVALID(doca_mmap_start(map));
  CHECK_OK(doca_mmap_get_memrange(map, &addr, &len));
  CHECK(addr == memory && len == sizeof memory);
  CHECK_OK(doca_mmap_add_dev(map, dev));
  CHECK_OK(doca_mmap_start(map));
  CHECK_STATUS(doca_mmap_set_memrange(map, memory, sizeof memory), DOCA_ERROR_BAD_STATE);
  CHECK_OK(doca_mmap_destroy(map));
  CHECK_OK(doca_dev_close(dev));
}

CASE(mmap, devices_are_counted) {
  struct doca_dev* dev = open_device(FIRST_DEVICE);
  struct doca_dev* other = open_device(SECOND_DEVICE);
  struct doca_mmap* map = NULL;
  uint32_t most = 0;
  CHECK_OK(doca_mmap_create(&map));
  CHECK_OK(doca_mmap_set_max_num_devices(map, 1));
  CHECK_OK(doca_mmap_get_max_num_devices(map, &most));
  CHECK(most == 1);
  CHECK_OK(doca_mmap_add_dev(map, dev));
  CHECK_STATUS(doca_mmap_add_dev(map, dev), DOCA_ERROR_ALREADY_EXIST);
  CHECK_STATUS(doca_mmap_add_dev(map, other), DOCA_ERROR_NO_MEMORY);
  CHECK_STATUS(doca_mmap_rm_dev(map, other), DOCA_ERROR_NOT_FOUND);
  CHECK_STATUS(doca_dev_close(dev), DOCA_ERROR_IN_USE);
  CHECK_OK(doca_mmap_rm_dev(map, dev));
  CHECK_OK(doca_dev_close(dev));
  CHECK_OK(doca_dev_close(other));
  CHECK_OK(doca_mmap_destroy(map));
}

CASE(mmap, permissions_are_checked) {
  struct doca_mmap* map = NULL;
  CHECK_OK(doca_mmap_create(&map));
  CHECK_INVALID(doca_mmap_set_permissions(map, 128));
  CHECK_INVALID(doca_mmap_set_permissions(map, DOCA_ACCESS_FLAG_PCI_READ_ONLY | DOCA_ACCESS_FLAG_PCI_READ_WRITE));
  CHECK_OK(doca_mmap_set_permissions(map, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_PCI_READ_WRITE));
  CHECK_OK(doca_mmap_destroy(map));
}

CASE(mmap, damaged_descriptions_are_refused) {
  struct doca_dev* dev = open_first_device();
  struct doca_mmap* map = NULL;
  char blob[512];
  memset(blob, 0x5a, sizeof blob);
  CHECK(doca_mmap_create_from_export(NULL, blob, sizeof blob, dev, &map) != DOCA_SUCCESS);
  CHECK_INVALID(doca_mmap_create_from_export(NULL, blob, 0, dev, &map));
  CHECK_INVALID(doca_mmap_create_from_export(NULL, NULL, 1, dev, &map));
  CHECK(map == NULL);
  CHECK_OK(doca_dev_close(dev));
}

CASE(mmap, programs_may_free_their_memory_while_the_map_is_started) {
  struct doca_dev* dev = open_first_device();
  const size_t len = (size_t)1 << 24;  // the C library gives it back to the system
  char* mine = malloc(len);
  CHECK(mine != NULL);
  struct doca_mmap* map = start_map(dev, mine, len);
  free(mine);
  CHECK_OK(doca_mmap_stop(map));
  CHECK_OK(doca_mmap_destroy(map));
  CHECK_OK(doca_dev_close(dev));
}

CASE(mmap, user_data_come_back) {
  struct doca_mmap* map = NULL;
  union doca_data data = {.u64 = 7};
  CHECK_OK(doca_mmap_create(&map));
  CHECK_OK(doca_mmap_get_user_data(map, &data));
  CHECK(data.u64 == 0);
  data.ptr = map;
  CHECK_OK(doca_mmap_set_user_data(map, data));
  data.ptr = NULL;
  CHECK_OK(doca_mmap_get_user_data(map, &data));
  CHECK(data.ptr == map);
  CHECK_OK(doca_mmap_destroy(map));
}

CASE(mmap, null_is_an_invalid_value) {
  struct doca_dev* dev = open_first_device();
  struct doca_mmap* map = NULL;
  const void* desc = NULL;
  size_t len = 0;
  CHECK_INVALID(doca_mmap_create(NULL));
  CHECK_INVALID(doca_mmap_destroy(NULL));
  CHECK_INVALID(doca_mmap_start(NULL));
  CHECK_INVALID(doca_mmap_stop(NULL));
  CHECK_OK(doca_mmap_create(&map));
  CHECK_INVALID(doca_mmap_add_dev(map, NULL));
  CHECK_INVALID(doca_mmap_add_dev(NULL, dev));
  CHECK_INVALID(doca_mmap_set_free_cb(map, NULL, NULL));
  CHECK_INVALID(doca_mmap_export_pci(map, dev, NULL, &len));
  CHECK_INVALID(doca_mmap_export_pci(map, NULL, &desc, &len));
  CHECK_OK(doca_mmap_destroy(map));
  CHECK_OK(doca_dev_close(dev));
}

CASE(mmap, what_needs_a_dpa_is_refused) {
  struct doca_dev* dev = open_first_device();
  struct doca_mmap* map = NULL;
  doca_dpa_dev_mmap_t handle = 0;
  CHECK_OK(doca_mmap_create(&map));
  CHECK_STATUS(doca_mmap_dev_get_dpa_handle(map, dev, &handle), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_mmap_set_dpa_memrange(map, (struct doca_dpa*)(void*)dev, 0, 1), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_OK(doca_mmap_destroy(map));
  CHECK_OK(doca_dev_close(dev));
}

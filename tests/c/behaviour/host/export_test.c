// What a host lends to its DPU. doca_mmap.h.

#include "rig/dma_rig.h"
#include "rig/side.h"

#include <stdlib.h>

enum { size = 64 * 1024, page = 4096 };

CASE(memory, is_freed_while_its_exported_map_is_started) {
  struct dma_rig rig;
  const void* blob = NULL;
  size_t length = 0;
  dma_rig_set_up(&rig, page, count_success, count_failure, 1);
  char* memory = malloc(size);
  CHECK(memory != NULL);
  struct doca_mmap* map = map_memory(rig.stage.dev, memory, size, DOCA_ACCESS_FLAG_PCI_READ_WRITE);
  CHECK_OK(doca_mmap_export_pci(map, rig.stage.dev, &blob, &length));
  CHECK(blob != NULL && length > 0 && length < 512);
  free(memory);
  CHECK_OK(doca_mmap_destroy(map));
  dma_rig_tear_down(&rig);
}

CASE(memory, is_exported_by_a_started_map_with_the_permission) {
  struct stage stage;
  const void* blob = NULL;
  size_t length = 0;
  uint8_t is_exported = 9;
  static char memory[page];
  stage_open(&stage, open_device(FIRST_DEVICE), page);
  CHECK_STATUS(doca_mmap_export_pci(stage.mmap, stage.dev, &blob, &length), DOCA_ERROR_NOT_PERMITTED);
  struct doca_mmap* map = map_memory(stage.dev, memory, page, DOCA_ACCESS_FLAG_PCI_READ_ONLY);
  CHECK_OK(doca_mmap_get_exported(map, &is_exported));
  CHECK_EQUAL(is_exported, 0);
  CHECK_OK(doca_mmap_export_pci(map, stage.dev, &blob, &length));
  CHECK(length > 0 && length < 512);
  CHECK_OK(doca_mmap_get_exported(map, &is_exported));
  CHECK_EQUAL(is_exported, 1);
  struct doca_dev* other = open_device(SECOND_DEVICE);
  CHECK_STATUS(doca_mmap_export_pci(map, other, &blob, &length), DOCA_ERROR_NOT_FOUND);
  CHECK_STATUS(doca_mmap_export_rdma(map, stage.dev, &blob, &length), DOCA_ERROR_NOT_PERMITTED);
  CHECK_OK(doca_mmap_stop(map));
  CHECK_STATUS(doca_mmap_export_pci(map, stage.dev, &blob, &length), DOCA_ERROR_NOT_PERMITTED);
  CHECK_OK(doca_mmap_destroy(map));
  CHECK_OK(doca_dev_close(other));
  stage_close(&stage);
}

// The host's half of a copy between host and DPU: lends a text to the DPU, and waits until it has been read.
//   dma_copy_host [DIRECTORY [TEXT]]

#include "common.h"
#include "descriptors.h"
#include "files.h"

#include <doca_log.h>
#include <stdio.h>
#include <string.h>

#ifndef DOCA_ARCH_HOST
#error "This program is for the host; build it with the host's SDK"
#endif

DOCA_LOG_REGISTER(DMA_COPY_HOST);

enum { patience = 30 };  // seconds

static doca_error_t can_export(const struct doca_devinfo* info) {
  uint8_t is_supported = 0;
  const doca_error_t result = doca_mmap_cap_is_export_pci_supported(info, &is_supported);
  if (result != DOCA_SUCCESS) return result;
  return is_supported ? DOCA_SUCCESS : DOCA_ERROR_NOT_SUPPORTED;
}

static doca_error_t lend(const char* directory, struct doca_dev* dev, const struct region* region) {
  const void* export_desc = NULL;
  size_t export_len = 0;
  char path[512];
  char answer[16];
  size_t answer_len = 0;
  doca_error_t result = doca_mmap_export_pci(region->mmap, dev, &export_desc, &export_len);
  if (result != DOCA_SUCCESS) return result;
  result = write_descriptors(directory, export_desc, export_len, region->memory, region->size);
  if (result != DOCA_SUCCESS) return result;
  DOCA_LOG_INFO("%zu bytes at %p are lent; waiting for the DPU", region->size, (void*)region->memory);
  path_in(directory, "done", path, sizeof path);
  return read_file(path, patience, answer, sizeof answer, &answer_len);
}

int main(int argc, char** argv) {
  const char* directory = argc > 1 ? argv[1] : ".";
  const char* text = argc > 2 ? argv[2] : "Hello from the host";
  const size_t size = strlen(text) + 1;
  struct doca_dev* dev = NULL;
  struct region region = {0};
  remove_descriptors(directory);
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = open_device(NULL, can_export, &dev);
  if (result == DOCA_SUCCESS) result = region_create(dev, size, DOCA_ACCESS_FLAG_PCI_READ_ONLY, &region);
  if (result == DOCA_SUCCESS) {
    memcpy(region.memory, text, size);
    result = lend(directory, dev, &region);
  }
  if (result == DOCA_SUCCESS) printf("the DPU has read: %s\n", text);
  remove_descriptors(directory);
  const doca_error_t destroyed = region_destroy(&region);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  if (dev != NULL) {
    const doca_error_t closed = doca_dev_close(dev);
    DOCA_ERROR_PROPAGATE(result, closed);
  }
  return exit_status("dma_copy_host", result);
}

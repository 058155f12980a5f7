#include "common.h"

#include <doca_log.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

DOCA_LOG_REGISTER(EXAMPLES::COMMON);

doca_error_t start_logging(void) {
  struct doca_log_backend* sdk = NULL;
  doca_error_t result = doca_log_backend_create_standard();
  if (result != DOCA_SUCCESS) return result;
  result = doca_log_backend_create_with_file_sdk(stderr, &sdk);
  if (result != DOCA_SUCCESS) return result;
  return doca_log_backend_set_sdk_level(sdk, DOCA_LOG_LEVEL_WARNING);
}

static int is_wanted(const struct doca_devinfo* info, const char* pci_addr, device_check suits) {
  uint8_t is_equal = 1;
  if (pci_addr != NULL && doca_devinfo_is_equal_pci_addr(info, pci_addr, &is_equal) != DOCA_SUCCESS) return 0;
  return is_equal && (suits == NULL || suits(info) == DOCA_SUCCESS);
}

doca_error_t open_device(const char* pci_addr, device_check suits, struct doca_dev** dev) {
  struct doca_devinfo** list = NULL;
  uint32_t count = 0;
  doca_error_t result = doca_devinfo_create_list(&list, &count);
  if (result != DOCA_SUCCESS) return result;

  result = DOCA_ERROR_NOT_FOUND;
  for (uint32_t i = 0; i < count && result == DOCA_ERROR_NOT_FOUND; i++) {
    if (is_wanted(list[i], pci_addr, suits)) result = doca_dev_open(list[i], dev);
  }
  if (result == DOCA_ERROR_NOT_FOUND) {
    DOCA_LOG_ERR("No device of %u is %s", count, pci_addr != NULL ? pci_addr : "able to run this program");
  }
  doca_devinfo_destroy_list(list);
  return result;
}

static doca_error_t map_region(struct doca_dev* dev, uint32_t permissions, struct region* region) {
  doca_error_t result = doca_mmap_create(&region->mmap);
  if (result != DOCA_SUCCESS) return result;
  result = doca_mmap_set_permissions(region->mmap, permissions);
  if (result != DOCA_SUCCESS) return result;
  result = doca_mmap_set_memrange(region->mmap, region->memory, region->size);
  if (result != DOCA_SUCCESS) return result;
  result = doca_mmap_add_dev(region->mmap, dev);
  if (result != DOCA_SUCCESS) return result;
  return doca_mmap_start(region->mmap);
}

doca_error_t region_create(struct doca_dev* dev, size_t size, uint32_t permissions, struct region* region) {
  region->size = size;
  region->memory = calloc(1, size);
  if (region->memory == NULL) return DOCA_ERROR_NO_MEMORY;
  const doca_error_t result = map_region(dev, permissions, region);
  if (result != DOCA_SUCCESS) DOCA_LOG_ERR("Memory cannot be mapped: %s", doca_error_get_descr(result));
  return result;
}

doca_error_t region_destroy(struct region* region) {
  doca_error_t result = DOCA_SUCCESS;
  if (region->mmap != NULL) {
    result = doca_mmap_destroy(region->mmap);
    if (result != DOCA_SUCCESS) return result;  // its memory is still in use
  }
  free(region->memory);
  *region = (struct region){0};
  return result;
}

doca_error_t stop_context(struct doca_pe* pe, struct doca_ctx* ctx) {
  const struct timespec pause = {.tv_nsec = 10000};
  enum doca_ctx_states state = DOCA_CTX_STATE_IDLE;
  doca_error_t result = doca_ctx_stop(ctx);
  if (result != DOCA_ERROR_IN_PROGRESS) return result;
  do {
    if (doca_pe_progress(pe) == 0) nanosleep(&pause, NULL);
    result = doca_ctx_get_state(ctx, &state);
  } while (result == DOCA_SUCCESS && state != DOCA_CTX_STATE_IDLE);
  return result;
}

int exit_status(const char* program, doca_error_t result) {
  if (result == DOCA_SUCCESS) return EXIT_SUCCESS;
  fprintf(stderr, "%s: %s (%s)\n", program, doca_error_get_descr(result), doca_error_get_name(result));
  return EXIT_FAILURE;
}

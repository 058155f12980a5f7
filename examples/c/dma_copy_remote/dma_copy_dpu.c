// The DPU's half of a copy between host and DPU: reads the host's memory by DMA.
//   dma_copy_dpu [DIRECTORY]

#include "descriptors.h"
#include "dma_common.h"
#include "files.h"

#include <doca_log.h>
#include <stdio.h>
#include <time.h>

#ifndef DOCA_ARCH_DPU
#error "This program is for the DPU; build it with the DPU's SDK"
#endif

DOCA_LOG_REGISTER(DMA_COPY_DPU);

enum { patience = 30 };  // seconds

static doca_error_t can_read_host(const struct doca_devinfo* info) {
  uint8_t is_supported = 0;
  const doca_error_t result = doca_mmap_cap_is_create_from_export_pci_supported(info, &is_supported);
  if (result != DOCA_SUCCESS) return result;
  return is_supported ? doca_dma_cap_task_memcpy_is_supported(info) : DOCA_ERROR_NOT_SUPPORTED;
}

struct resources {
  struct doca_dev* dev;
  struct copier copier;
  struct doca_mmap* remote;
  struct region local;
};

// The files may be of a host that has ended: then nobody lends that memory, until the files are replaced.
static doca_error_t import(const char* directory, struct descriptors* host, struct resources* all) {
  const struct timespec pause = {.tv_nsec = 100 * 1000 * 1000};
  doca_error_t result = DOCA_ERROR_NOT_CONNECTED;
  for (int look = 0; look < patience * 10 && result == DOCA_ERROR_NOT_CONNECTED; look++) {
    if (look > 0) nanosleep(&pause, NULL);
    result = read_descriptors(directory, patience, host);
    if (result != DOCA_SUCCESS) return result;
    result = doca_mmap_create_from_export(NULL, host->export_desc, host->export_len, all->dev, &all->remote);
  }
  return result;
}

static doca_error_t create(const char* directory, struct descriptors* host, struct resources* all) {
  doca_error_t result = open_device(NULL, can_read_host, &all->dev);
  if (result != DOCA_SUCCESS) return result;
  result = import(directory, host, all);
  if (result != DOCA_SUCCESS) return result;
  result = region_create(all->dev, host->length, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE, &all->local);
  if (result != DOCA_SUCCESS) return result;
  return copier_create(all->dev, 1, &all->copier);
}

static doca_error_t destroy(struct resources* all) {
  doca_error_t result = copier_destroy(&all->copier);
  const doca_error_t local = region_destroy(&all->local);
  DOCA_ERROR_PROPAGATE(result, local);
  if (all->remote != NULL) {
    const doca_error_t remote = doca_mmap_destroy(all->remote);
    DOCA_ERROR_PROPAGATE(result, remote);
  }
  if (all->dev != NULL) {
    const doca_error_t closed = doca_dev_close(all->dev);
    DOCA_ERROR_PROPAGATE(result, closed);
  }
  return result;
}

static doca_error_t copy(const struct descriptors* host, struct resources* all) {
  struct doca_buf_inventory* inventory = all->copier.inventory;
  struct doca_buf* src = NULL;
  struct doca_buf* dst = NULL;
  struct completion completion = {0};
  // The addresses of the remote range are the host's.
  doca_error_t result = doca_buf_inventory_buf_get_by_data(inventory, all->remote, host->address, host->length, &src);
  if (result == DOCA_SUCCESS) {
    result = doca_buf_inventory_buf_get_by_addr(inventory, all->local.mmap, all->local.memory, all->local.size, &dst);
  }
  if (result == DOCA_SUCCESS) result = copier_submit(&all->copier, src, dst, &completion);
  if (result == DOCA_SUCCESS) result = copier_wait(&all->copier, &completion);
  if (src != NULL) doca_buf_dec_refcount(src, NULL);
  if (dst != NULL) doca_buf_dec_refcount(dst, NULL);
  return result;
}

// The host may take its memory back once this file exists.
static doca_error_t tell_host(const char* directory) {
  char path[512];
  path_in(directory, "done", path, sizeof path);
  return write_file(path, "done\n", 5);
}

int main(int argc, char** argv) {
  const char* directory = argc > 1 ? argv[1] : ".";
  struct descriptors host = {0};
  struct resources all = {0};
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = create(directory, &host, &all);
  if (result == DOCA_SUCCESS) result = copy(&host, &all);
  if (result == DOCA_SUCCESS) printf("read from the host: %.*s\n", (int)all.local.size, all.local.memory);
  if (result == DOCA_SUCCESS) result = tell_host(directory);
  const doca_error_t destroyed = destroy(&all);
  DOCA_ERROR_PROPAGATE(result, destroyed);
  return exit_status("dma_copy_dpu", result);
}

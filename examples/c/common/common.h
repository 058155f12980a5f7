// What the programs of this folder share: finding a device, lending memory to it, stopping a context.
#ifndef EXAMPLES_COMMON_H_
#define EXAMPLES_COMMON_H_

#include <doca_ctx.h>
#include <doca_dev.h>
#include <doca_error.h>
#include <doca_mmap.h>
#include <doca_pe.h>
#include <stddef.h>
#include <stdint.h>

// Whether a device suits the program: DOCA_SUCCESS, or why not. DOCA's functions
// doca_<library>_cap_task_<task>_is_supported() have this type.
typedef doca_error_t (*device_check)(const struct doca_devinfo* info);

// Has the program's messages and those of the SDK from WARNING on written to the standard streams.
doca_error_t start_logging(void);

// Opens the first device that suits, or that of pci_addr unless it is NULL. DOCA_ERROR_NOT_FOUND when there is none.
doca_error_t open_device(const char* pci_addr, device_check suits, struct doca_dev** dev);

// Memory of the program, and the map by which devices reach it.
struct region {
  char* memory;
  size_t size;
  struct doca_mmap* mmap;
};

// Allocates zeroed memory, maps it for dev with permissions (DOCA_ACCESS_FLAG_*), and starts the map.
doca_error_t region_create(struct doca_dev* dev, size_t size, uint32_t permissions, struct region* region);
// The opposite; takes what region_create() left behind when it failed, too.
doca_error_t region_destroy(struct region* region);

// Progresses the engine until the context is idle. Its tasks are freed by their callbacks.
doca_error_t stop_context(struct doca_pe* pe, struct doca_ctx* ctx);

// Prints the outcome of a program, and turns it into its exit status.
int exit_status(const char* program, doca_error_t result);

#endif

#include "rig/device.h"

#include "rig/case.h"

#include <stdlib.h>
#include <string.h>

/// Whether script/test-rdma has chosen it, or none.
static bool is_under_test(const struct doca_devinfo* info) {
  char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
  const char* const chosen = getenv("PYDOCA_TEST_DEVICE");
  return chosen == NULL || strcmp(chosen, "sim") == 0 ||
         (doca_devinfo_get_ibdev_name(info, name, sizeof name) == DOCA_SUCCESS && strcmp(name, chosen) == 0);
}

static doca_error_t is_any(const struct doca_devinfo* info) {
  (void)info;
  return DOCA_SUCCESS;
}

static struct doca_dev* open_where(const char* pci_addr, doca_error_t (*check)(const struct doca_devinfo* info)) {
  struct doca_devinfo** list = NULL;
  uint32_t count = 0;
  CHECK_OK(doca_devinfo_create_list(&list, &count));
  struct doca_dev* dev = NULL;
  for (uint32_t i = 0; i < count && dev == NULL; ++i) {
    uint8_t is_equal = is_under_test(list[i]);
    if (pci_addr != NULL) {
      CHECK_OK(doca_devinfo_is_equal_pci_addr(list[i], pci_addr, &is_equal));
    }
    if (is_equal && check(list[i]) == DOCA_SUCCESS) {
      CHECK_OK(doca_dev_open(list[i], &dev));
    }
  }
  CHECK_OK(doca_devinfo_destroy_list(list));
  CHECK(dev != NULL);
  return dev;
}

struct doca_dev* open_device(const char* pci_addr) { return open_where(pci_addr, is_any); }

struct doca_dev* open_first(doca_error_t (*check)(const struct doca_devinfo* info)) { return open_where(NULL, check); }

struct doca_dev* open_first_device(void) { return open_where(NULL, is_any); }

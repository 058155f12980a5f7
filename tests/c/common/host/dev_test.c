#include "rig/case.h"
#include "rig/device.h"

#include <doca_mmap.h>
#include <stddef.h>

#ifndef DOCA_ARCH_HOST
#error "these cases are those of a host"
#endif

static char memory[4096];

CASE(dev, a_host_has_no_representors) {
  struct doca_dev* dev = open_first_device();
  struct doca_devinfo_rep** list = NULL;
  uint32_t count = 0;
  CHECK_STATUS(doca_devinfo_rep_create_list(dev, DOCA_DEVINFO_REP_FILTER_ALL, &list, &count), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_INVALID(doca_devinfo_rep_create_list(dev, 1, &list, &count));
  CHECK_OK(doca_dev_close(dev));
}

CASE(mmap, a_description_is_small_and_stays_until_the_stop) {
  struct doca_dev* dev = open_first_device();
  struct doca_mmap* map = NULL;
  const void* desc = NULL;
  const void* same = NULL;
  size_t len = 0;
  uint8_t exported = 1;
  CHECK_OK(doca_mmap_create(&map));
  CHECK_OK(doca_mmap_set_memrange(map, memory, sizeof memory));
  CHECK_OK(doca_mmap_add_dev(map, dev));
  CHECK_OK(doca_mmap_start(map));
  CHECK_STATUS(doca_mmap_export_pci(map, dev, &desc, &len), DOCA_ERROR_NOT_PERMITTED);
  CHECK_OK(doca_mmap_stop(map));
  CHECK_OK(doca_mmap_set_permissions(map, DOCA_ACCESS_FLAG_LOCAL_READ_WRITE | DOCA_ACCESS_FLAG_PCI_READ_WRITE));
  CHECK_OK(doca_mmap_start(map));
  CHECK_OK(doca_mmap_get_exported(map, &exported));
  CHECK(exported == 0);
  CHECK_OK(doca_mmap_export_pci(map, dev, &desc, &len));
  CHECK(desc != NULL && len > 0 && len < 512);
  CHECK_OK(doca_mmap_export_pci(map, dev, &same, &len));
  CHECK(same == desc);
  CHECK_OK(doca_mmap_get_exported(map, &exported));
  CHECK(exported == 1);
  CHECK_OK(doca_mmap_destroy(map));
  CHECK_OK(doca_dev_close(dev));
}

CASE(mmap, a_host_exports_and_does_not_import) {
  struct doca_dev* dev = open_first_device();
  uint8_t can = 2;
  CHECK_OK(doca_mmap_cap_is_export_pci_supported(doca_dev_as_devinfo(dev), &can));
  CHECK(can == 1);
  CHECK_OK(doca_mmap_cap_is_create_from_export_pci_supported(doca_dev_as_devinfo(dev), &can));
  CHECK(can == 0);
  CHECK_OK(doca_dev_close(dev));
}

#include "rig/case.h"
#include "rig/device.h"

#include <doca_mmap.h>
#include <stdlib.h>
#include <string.h>

#ifndef DOCA_ARCH_DPU
#error "these cases are those of a DPU"
#endif

CASE(dev, a_dpu_sees_devices_of_its_own_side_only) {
  struct doca_devinfo** list = NULL;
  uint32_t count = 0;
  CHECK_OK(doca_devinfo_create_list(&list, &count));
  for (uint32_t i = 0; i < count; ++i) {
    uint8_t is_equal = 1;
    CHECK_OK(doca_devinfo_is_equal_pci_addr(list[i], "0b:00.0", &is_equal));
    CHECK(is_equal == 0);
  }
  CHECK_OK(doca_devinfo_destroy_list(list));
  setenv("PYDOCA_SIDE", "host", 1);
  CHECK_STATUS(doca_devinfo_create_list(&list, &count), DOCA_ERROR_NOT_PERMITTED);
}

CASE(mmap, a_dpu_imports_and_does_not_export) {
  struct doca_dev* dev = open_device("03:00.0");
  uint8_t can = 0;
  CHECK_OK(doca_mmap_cap_is_create_from_export_pci_supported(doca_dev_as_devinfo(dev), &can));
  CHECK(can == 1);
  CHECK_OK(doca_dev_close(dev));
}

/// The representor of the host's function with that address.
static struct doca_dev_rep* open_rep(struct doca_dev* dev, const char* pci_addr) {
  struct doca_devinfo_rep** list = NULL;
  struct doca_dev_rep* rep = NULL;
  uint32_t count = 0;
  CHECK_OK(doca_devinfo_rep_create_list(dev, DOCA_DEVINFO_REP_FILTER_NET, &list, &count));
  for (uint32_t i = 0; i < count && rep == NULL; ++i) {
    uint8_t is_equal = 0;
    CHECK_OK(doca_devinfo_rep_is_equal_pci_addr(list[i], pci_addr, &is_equal));
    if (is_equal) {
      CHECK_OK(doca_dev_rep_open(list[i], &rep));
    }
  }
  CHECK_OK(doca_devinfo_rep_destroy_list(list));
  CHECK_INVALID(doca_devinfo_rep_destroy_list(list));
  CHECK(rep != NULL);
  return rep;
}

CASE(dev_rep, representors_have_the_addresses_of_the_host) {
  struct doca_dev* dev = open_device("03:00.0");
  struct doca_dev_rep* rep = open_rep(dev, "0b:00.0");
  const struct doca_devinfo_rep* info = doca_dev_rep_as_devinfo(rep);
  char address[DOCA_DEVINFO_REP_PCI_ADDR_SIZE];
  char vuid[DOCA_DEVINFO_REP_VUID_SIZE];
  enum doca_pci_func_type type = DOCA_PCI_FUNC_TYPE_SF;
  uint8_t is_hotplug = 2;
  CHECK_OK(doca_devinfo_rep_get_pci_addr_str(info, address));
  CHECK(strcmp(address, "0000:0b:00.0") == 0);
  CHECK_OK(doca_devinfo_rep_get_vuid(info, vuid, sizeof vuid));
  CHECK_INVALID(doca_devinfo_rep_get_vuid(info, vuid, sizeof vuid - 1));
  CHECK_OK(doca_devinfo_rep_get_pci_func_type(info, &type));
  CHECK(type == DOCA_PCI_FUNC_TYPE_PF);
  CHECK_OK(doca_devinfo_rep_get_is_hotplug(info, &is_hotplug));
  CHECK(is_hotplug == 0);
  CHECK_STATUS(doca_dev_close(dev), DOCA_ERROR_IN_USE);
  CHECK_OK(doca_dev_rep_close(rep));
  CHECK_INVALID(doca_dev_rep_close(rep));
  CHECK(doca_dev_rep_as_devinfo(rep) == NULL);
  CHECK_OK(doca_dev_close(dev));
}

CASE(dev_rep, filters_are_capabilities_of_the_device) {
  struct doca_dev* dev = open_device("03:00.0");
  struct doca_devinfo_rep** list = NULL;
  uint32_t count = 0;
  uint8_t can = 2;
  CHECK_OK(doca_devinfo_rep_cap_is_filter_net_supported(doca_dev_as_devinfo(dev), &can));
  CHECK(can == 1);
  CHECK_OK(doca_devinfo_rep_cap_is_filter_emulated_supported(doca_dev_as_devinfo(dev), &can));
  const doca_error_t result = doca_devinfo_rep_create_list(dev, DOCA_DEVINFO_REP_FILTER_EMULATED, &list, &count);
  CHECK_STATUS(result, can ? DOCA_SUCCESS : DOCA_ERROR_NOT_SUPPORTED);
  if (can) {
    CHECK_OK(doca_devinfo_rep_destroy_list(list));
  }
  CHECK_OK(doca_dev_close(dev));
}

#include "rig/case.h"
#include "rig/device.h"
#include "rig/side.h"

#include <doca_ctx.h>
#include <doca_log.h>
#include <stdlib.h>
#include <string.h>

CASE(dev, opening_twice_gives_one_object) {
  struct doca_dev* dev = open_first_device();
  struct doca_dev* same = NULL;
  CHECK_OK(doca_dev_open(doca_dev_as_devinfo(dev), &same));
  CHECK(same == dev);
  CHECK_OK(doca_dev_close(dev));
  CHECK(doca_dev_as_devinfo(dev) != NULL);
  CHECK_OK(doca_dev_close(dev));
}

CASE(dev, a_closed_device_is_recognised) {
  struct doca_dev* dev = open_first_device();
  struct doca_devinfo* info = doca_dev_as_devinfo(dev);
  CHECK_OK(doca_dev_close(dev));
  CHECK_INVALID(doca_dev_close(dev));
  CHECK(doca_dev_as_devinfo(dev) == NULL);
  char address[DOCA_DEVINFO_PCI_ADDR_SIZE];
  CHECK_INVALID(doca_devinfo_get_pci_addr_str(info, address));
}

CASE(dev, an_object_of_another_kind_is_recognised) {
  struct doca_dev* dev = open_first_device();
  CHECK_INVALID(doca_dev_rep_close((struct doca_dev_rep*)(void*)dev));
  CHECK_OK(doca_dev_close(dev));
}

CASE(dev, a_list_is_destroyed_once) {
  struct doca_devinfo** list = NULL;
  uint32_t count = 0;
  CHECK_OK(doca_devinfo_create_list(&list, &count));
  CHECK(count > 0);
  struct doca_devinfo* info = list[0];
  CHECK_OK(doca_devinfo_destroy_list(list));
  CHECK_INVALID(doca_devinfo_destroy_list(list));
  struct doca_dev* dev = NULL;
  CHECK_INVALID(doca_dev_open(info, &dev));
}

CASE(dev, null_is_an_invalid_value) {
  struct doca_devinfo** list = NULL;
  uint32_t count = 0;
  struct doca_dev* dev = NULL;
  CHECK_INVALID(doca_devinfo_create_list(NULL, &count));
  CHECK_INVALID(doca_devinfo_create_list(&list, NULL));
  CHECK_INVALID(doca_devinfo_destroy_list(NULL));
  CHECK_INVALID(doca_dev_open(NULL, &dev));
  CHECK_INVALID(doca_dev_close(NULL));
  CHECK(doca_dev_as_devinfo(NULL) == NULL);
}

CASE(dev, properties_are_written_to_memory_of_the_callers_size) {
  struct doca_dev* dev = open_device(FIRST_DEVICE);
  const struct doca_devinfo* info = doca_dev_as_devinfo(dev);
  char address[DOCA_DEVINFO_PCI_ADDR_SIZE];
  CHECK_OK(doca_devinfo_get_pci_addr_str(info, address));
  CHECK(strcmp(address, "0000:" FIRST_DEVICE) == 0);
  char name[DOCA_DEVINFO_IBDEV_NAME_SIZE];
  CHECK_OK(doca_devinfo_get_ibdev_name(info, name, sizeof name));
  CHECK_INVALID(doca_devinfo_get_ibdev_name(info, name, sizeof name - 1));
  uint8_t mac[DOCA_DEVINFO_MAC_ADDR_SIZE];
  CHECK_OK(doca_devinfo_get_mac_addr(info, mac, sizeof mac));
  CHECK_INVALID(doca_devinfo_get_mac_addr(info, mac, sizeof mac - 1));
  uint64_t rate = 0;
  CHECK_OK(doca_devinfo_get_active_rate(info, &rate));
  CHECK(rate > 0);
  uint32_t sf_index = 0;
  CHECK_STATUS(doca_devinfo_get_sf_index(info, &sf_index), DOCA_ERROR_NOT_SUPPORTED);
  enum doca_pci_func_type type = DOCA_PCI_FUNC_TYPE_SF;
  CHECK_OK(doca_devinfo_get_pci_func_type(info, &type));
  CHECK(type == DOCA_PCI_FUNC_TYPE_PF);
  uint8_t is_equal = 2;
  CHECK_INVALID(doca_devinfo_is_equal_pci_addr(info, "no address", &is_equal));
  CHECK_OK(doca_dev_close(dev));
}

CASE(dev, the_other_side_in_the_environment_is_not_permitted) {
  struct doca_devinfo** list = NULL;
  uint32_t count = 0;
  setenv("PYDOCA_SIDE", OTHER_SIDE, 1);
  CHECK_STATUS(doca_devinfo_create_list(&list, &count), DOCA_ERROR_NOT_PERMITTED);
  setenv("PYDOCA_SIDE", SIDE, 1);
  CHECK_OK(doca_devinfo_create_list(&list, &count));
  CHECK_OK(doca_devinfo_destroy_list(list));
}

static int lines;

static void count_line(char* buffer) {
  (void)buffer;
  ++lines;
}

CASE(dev, what_a_device_lacks_is_an_answer_and_not_an_error) {
  struct doca_log_backend* backend = NULL;
  char buf[300] = "";
  uint8_t address[4] = {0};
  uint16_t lid = 0;
  uint32_t number = 0;
  struct doca_dev* dev = open_first_device();
  const struct doca_devinfo* info = doca_dev_as_devinfo(dev);
  CHECK_OK(doca_log_backend_create_with_buf_sdk(buf, sizeof buf, count_line, &backend));
  CHECK_STATUS(doca_devinfo_get_ipv4_addr(info, address, sizeof address), DOCA_ERROR_NOT_FOUND);
  CHECK_STATUS(doca_devinfo_get_lid(info, &lid), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_devinfo_get_sf_index(info, &number), DOCA_ERROR_NOT_SUPPORTED);
  CHECK_STATUS(doca_ctx_cap_get_num_completion_vectors(info, &number), DOCA_ERROR_NOT_SUPPORTED);
  CHECK(lines == 0);
  CHECK_OK(doca_log_backend_set_sdk_level(backend, DOCA_LOG_LEVEL_DEBUG));
  CHECK_STATUS(doca_devinfo_get_lid(info, &lid), DOCA_ERROR_NOT_SUPPORTED);
  CHECK(lines == 1 && strstr(buf, "doca_devinfo_get_lid: ") != NULL);
  CHECK_INVALID(doca_devinfo_get_lid(NULL, &lid));
  CHECK(lines == 2);
  CHECK_OK(doca_dev_close(dev));
}

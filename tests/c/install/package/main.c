#include <doca_dev.h>
#include <stdio.h>

/// Prints the devices of this side.
int main(void) {
  struct doca_devinfo** list = NULL;
  uint32_t count = 0;
  doca_error_t result = doca_devinfo_create_list(&list, &count);
  if (result != DOCA_SUCCESS) {
    fprintf(stderr, "%s\n", doca_error_get_descr(result));
    return 1;
  }
  for (uint32_t i = 0; i < count; ++i) {
    char address[DOCA_DEVINFO_PCI_ADDR_SIZE] = "";
    DOCA_ERROR_PROPAGATE(result, doca_devinfo_get_pci_addr_str(list[i], address));
    puts(address);
  }
  DOCA_ERROR_PROPAGATE(result, doca_devinfo_destroy_list(list));
  return result == DOCA_SUCCESS ? 0 : 1;
}

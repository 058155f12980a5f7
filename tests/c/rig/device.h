#ifndef TESTS_C_DEVICE_H
#define TESTS_C_DEVICE_H

#include <doca_dev.h>

/// The open device of this side with that PCI address, such as "0b:00.0".
struct doca_dev* open_device(const char* pci_addr);

/// The first one for which check, a function of doca_<library>.h, answers success.
struct doca_dev* open_first(doca_error_t (*check)(const struct doca_devinfo* info));

/// The first device of this side.
struct doca_dev* open_first_device(void);

#endif  // TESTS_C_DEVICE_H

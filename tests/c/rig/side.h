/// The side of the PCIe link that the tests are built for.
#ifndef TESTS_C_SIDE_H
#define TESTS_C_SIDE_H

#include <doca_build_config.h>

/// PCI addresses of the side's first two devices.
#ifdef DOCA_ARCH_DPU
#define FIRST_DEVICE "03:00.0"
#define SECOND_DEVICE "03:00.1"
#define SIDE "dpu"
#define OTHER_SIDE "host"
#else
#define FIRST_DEVICE "0b:00.0"
#define SECOND_DEVICE "0b:00.1"
#define SIDE "host"
#define OTHER_SIDE "dpu"
#endif

#endif  // TESTS_C_SIDE_H

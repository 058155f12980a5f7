#include "rig/case.h"
#include "rig/device.h"

#include <doca_clock.h>
#include <time.h>

CASE(clock, a_host_clock_is_this_machines) {
  struct doca_dev* dev = open_first_device();
  struct doca_clock* clock = NULL;
  CHECK_OK(doca_clock_create(dev, &clock));
  union doca_clock_timespec_t now;
  CHECK_OK(doca_clock_get_timestamp(clock, DOCA_CLOCK_HOST_REAL_TIME, &now));
  const time_t here = time(NULL);
  CHECK(now.ts.tv_sec <= here + 1 && now.ts.tv_sec >= here - 1);
  CHECK(now.ts.tv_nsec >= 0 && now.ts.tv_nsec < 1000000000);
  CHECK_OK(doca_clock_destroy(clock));
  CHECK_OK(doca_dev_close(dev));
}

CASE(clock, a_devices_clock_counts_on) {
  struct doca_dev* dev = open_first_device();
  CHECK_OK(doca_clock_cap_nic_free_running_is_supported(doca_dev_as_devinfo(dev)));
  CHECK_OK(doca_clock_cap_nic_real_time_is_supported(doca_dev_as_devinfo(dev)));
  struct doca_clock* clock = NULL;
  CHECK_OK(doca_clock_create(dev, &clock));
  union doca_clock_timespec_t before;
  union doca_clock_timespec_t after;
  CHECK_OK(doca_clock_get_timestamp(clock, DOCA_CLOCK_NIC_FREE_RUNNING, &before));
  const struct timespec pause = {.tv_sec = 0, .tv_nsec = 1000000};
  nanosleep(&pause, NULL);
  CHECK_OK(doca_clock_get_timestamp(clock, DOCA_CLOCK_NIC_FREE_RUNNING, &after));
  CHECK(after.cycles > before.cycles);
  CHECK_OK(doca_clock_destroy(clock));
  CHECK_OK(doca_dev_close(dev));
}

CASE(clock, two_clocks_are_read_close_together) {
  struct doca_dev* dev = open_first_device();
  struct doca_clock* clock = NULL;
  CHECK_OK(doca_clock_create(dev, &clock));
  union doca_clock_timespec_t host;
  union doca_clock_timespec_t nic;
  uint64_t accuracy = 0;
  CHECK_OK(doca_clock_get_crosstimestamp(clock, DOCA_CLOCK_HOST_REAL_TIME, DOCA_CLOCK_NIC_REAL_TIME, &host, &nic,
                                         &accuracy));
  CHECK(host.ts.tv_sec - nic.ts.tv_sec <= 1 && nic.ts.tv_sec - host.ts.tv_sec <= 1);
  CHECK_INVALID(doca_clock_get_crosstimestamp(clock, DOCA_CLOCK_NIC_REAL_TIME, DOCA_CLOCK_HOST_REAL_TIME, &host, &nic,
                                              &accuracy));
  CHECK_INVALID(
      doca_clock_get_crosstimestamp(clock, DOCA_CLOCK_HOST_REAL_TIME, DOCA_CLOCK_NIC_REAL_TIME, &host, &nic, NULL));
  CHECK_OK(doca_clock_destroy(clock));
  CHECK_OK(doca_dev_close(dev));
}

CASE(clock, misuse_is_an_invalid_value) {
  struct doca_dev* dev = open_first_device();
  struct doca_clock* clock = NULL;
  union doca_clock_timespec_t now;
  CHECK_INVALID(doca_clock_create(NULL, &clock));
  CHECK_INVALID(doca_clock_create(dev, NULL));
  CHECK_OK(doca_clock_create(dev, &clock));
  CHECK_STATUS(doca_dev_close(dev), DOCA_ERROR_IN_USE);
  CHECK_INVALID(doca_clock_get_timestamp(clock, 0, &now));
  CHECK_INVALID(doca_clock_get_timestamp(clock, DOCA_CLOCK_HOST_MONOTONIC | DOCA_CLOCK_HOST_REAL_TIME, &now));
  CHECK_INVALID(doca_clock_get_timestamp(clock, DOCA_CLOCK_HOST_MONOTONIC, NULL));
  CHECK_INVALID(doca_clock_get_timestamp(NULL, DOCA_CLOCK_HOST_MONOTONIC, &now));
  CHECK_INVALID(doca_clock_cap_nic_dpa_timer_is_supported(NULL));
  CHECK_OK(doca_clock_destroy(clock));
  CHECK_INVALID(doca_clock_destroy(clock));
  CHECK_INVALID(doca_clock_get_timestamp(clock, DOCA_CLOCK_HOST_MONOTONIC, &now));
  CHECK_OK(doca_dev_close(dev));
}

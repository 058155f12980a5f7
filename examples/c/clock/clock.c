// Reads the clocks of a device and of this machine, each by itself and close together.

#include "common.h"

#include <doca_clock.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static const int64_t second = 1000000000;  // nanoseconds

static doca_error_t read_counter(struct doca_clock* clock, uint64_t* cycles) {
  union doca_clock_timespec_t now = {0};
  const doca_error_t result = doca_clock_get_timestamp(clock, DOCA_CLOCK_NIC_FREE_RUNNING, &now);
  *cycles = now.cycles;
  return result;
}

// How far the device's time of day is from that of this machine, when both are read close together.
static doca_error_t compare(struct doca_clock* clock) {
  union doca_clock_timespec_t host = {0};
  union doca_clock_timespec_t nic = {0};
  uint64_t accuracy = 0;
  const doca_error_t result =
      doca_clock_get_crosstimestamp(clock, DOCA_CLOCK_HOST_REAL_TIME, DOCA_CLOCK_NIC_REAL_TIME, &host, &nic, &accuracy);
  if (result != DOCA_SUCCESS) return result;
  const int64_t difference = (nic.ts.tv_sec - host.ts.tv_sec) * second + nic.ts.tv_nsec - host.ts.tv_nsec;
  printf("the device's clock is %" PRId64 " ns ahead, give or take %" PRIu64 " ns\n", difference, accuracy);
  return DOCA_SUCCESS;
}

static doca_error_t run(struct doca_clock* clock) {
  const struct timespec pause = {.tv_nsec = 1000000};
  uint64_t before = 0;
  uint64_t after = 0;
  doca_error_t result = compare(clock);
  if (result == DOCA_SUCCESS) result = read_counter(clock, &before);
  nanosleep(&pause, NULL);
  if (result == DOCA_SUCCESS) result = read_counter(clock, &after);
  if (result != DOCA_SUCCESS) return result;
  printf("%" PRIu64 " cycles of the device have passed in a millisecond\n", after - before);
  printf("%s\n", after > before ? "the device's counter runs" : "the device's counter stands");
  return DOCA_SUCCESS;
}

int main(void) {
  struct doca_dev* dev = NULL;
  struct doca_clock* clock = NULL;
  doca_error_t result = start_logging();
  if (result == DOCA_SUCCESS) result = open_device(NULL, doca_clock_cap_nic_free_running_is_supported, &dev);
  if (result == DOCA_SUCCESS) result = doca_clock_create(dev, &clock);
  if (result == DOCA_SUCCESS) result = run(clock);
  if (clock != NULL) {
    const doca_error_t destroyed = doca_clock_destroy(clock);
    DOCA_ERROR_PROPAGATE(result, destroyed);
  }
  if (dev != NULL) {
    const doca_error_t closed = doca_dev_close(dev);
    DOCA_ERROR_PROPAGATE(result, closed);
  }
  return exit_status("clock", result);
}

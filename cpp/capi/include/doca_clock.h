/// The clocks of a device and of this machine.
///
/// A clock belongs to one thread at a time. Besides what is said at each function: INVALID_VALUE for NULL, for a clock
/// that was destroyed, and for an object of another kind.
#ifndef DOCA_CLOCK_H_
#define DOCA_CLOCK_H_

#include <doca_build_config.h>
#include <doca_compat.h>
#include <doca_dev.h>
#include <doca_error.h>
#include <doca_types.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct doca_clock;

// The kinds of clocks, each a bit.
#define DOCA_CLOCK_NIC_FREE_RUNNING 1u     ///< the device's: cycles
#define DOCA_CLOCK_NIC_REAL_TIME 2u        ///< the device's: seconds since 1970
#define DOCA_CLOCK_NIC_DPA_TIMER 4u        ///< the timer of the device's DPA: cycles
#define DOCA_CLOCK_HOST_COUNTER_CYCLES 8u  ///< this processor's: cycles
#define DOCA_CLOCK_HOST_REAL_TIME 16u      ///< seconds since 1970
#define DOCA_CLOCK_HOST_MONOTONIC 32u      ///< seconds, at the rate to which the system corrects it
#define DOCA_CLOCK_HOST_MONOTONIC_RAW 64u  ///< seconds, at the oscillator's rate

/// What a clock shows: cycles, or seconds and nanoseconds, as its kind says.
union doca_clock_timespec_t {
  uint64_t cycles;
  struct {
    int64_t tv_sec;
    int64_t tv_nsec;  ///< less than 1,000,000,000
  } ts;
};

/// NOT_SUPPORTED when the device has no clock.
DOCA_EXPERIMENTAL doca_error_t doca_clock_create(struct doca_dev* dev, struct doca_clock** clock);
DOCA_EXPERIMENTAL doca_error_t doca_clock_destroy(struct doca_clock* clock);

/// Reads one clock. INVALID_VALUE unless type is one bit, NOT_SUPPORTED for a clock that is not there, DRIVER when the
/// device was removed.
DOCA_EXPERIMENTAL doca_error_t doca_clock_get_timestamp(struct doca_clock* clock, uint32_t type,
                                                        union doca_clock_timespec_t* timestamp);
/// Reads a clock of this machine (prim_type) and one of the device (nic_type) close together. accuracy: they were read
/// at most so many nanoseconds apart.
DOCA_EXPERIMENTAL doca_error_t doca_clock_get_crosstimestamp(struct doca_clock* clock, uint32_t prim_type,
                                                             uint32_t nic_type,
                                                             union doca_clock_timespec_t* prim_timestamp,
                                                             union doca_clock_timespec_t* nic_timestamp,
                                                             uint64_t* accuracy);

// SUCCESS when the device has the clock, else NOT_SUPPORTED.
DOCA_EXPERIMENTAL doca_error_t doca_clock_cap_nic_free_running_is_supported(const struct doca_devinfo* devinfo);
DOCA_EXPERIMENTAL doca_error_t doca_clock_cap_nic_real_time_is_supported(const struct doca_devinfo* devinfo);
DOCA_EXPERIMENTAL doca_error_t doca_clock_cap_nic_dpa_timer_is_supported(const struct doca_devinfo* devinfo);

#ifdef __cplusplus
}
#endif

#endif  // DOCA_CLOCK_H_

/// The version of DOCA's interface that these headers declare.
#ifndef DOCA_VERSION_H_
#define DOCA_VERSION_H_

#include <doca_build_config.h>
#include <doca_compat.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DOCA_VERSION_MAJOR 3
#define DOCA_VERSION_MINOR 3
#define DOCA_VERSION_PATCH 0
#define DOCA_VERSION_STRING "3.3.0"

/// A version as one number, for comparisons. The last part counts builds: a release x.y.z has the patch z * 1000.
#define DOCA_VERSION_CALC_EXACT(major, minor, patch) (((major) << 24) | ((minor) << 16) | (patch))
#define DOCA_VERSION_CALC(major, minor, patch) DOCA_VERSION_CALC_EXACT(major, minor, (patch) * 1000)

/// These headers' version, with and without the build.
#define DOCA_VERSION_EXACT DOCA_VERSION_CALC_EXACT(DOCA_VERSION_MAJOR, DOCA_VERSION_MINOR, DOCA_VERSION_PATCH)
#define DOCA_VERSION_OFFICIAL DOCA_VERSION_CALC(DOCA_VERSION_MAJOR, DOCA_VERSION_MINOR, DOCA_VERSION_PATCH / 1000)

/// Whether a version, made by DOCA_VERSION_CALC, is these headers', or is not newer.
#define DOCA_VERSION_EQ_CURRENT(version) ((version) == DOCA_VERSION_OFFICIAL)
#define DOCA_VERSION_LTE_CURRENT(version) ((version) <= DOCA_VERSION_OFFICIAL)

/// The version with which the program was compiled.
static inline const char* doca_version(void) { return DOCA_VERSION_STRING; }

/// The version of the library with which it runs.
DOCA_EXPERIMENTAL const char* doca_version_runtime(void);

#ifdef __cplusplus
}
#endif

#endif  // DOCA_VERSION_H_

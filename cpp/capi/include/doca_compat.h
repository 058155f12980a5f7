/// Attributes of functions. A program defines DOCA_ALLOW_EXPERIMENTAL_API, and DOCA_ALLOW_DEPRECATED_API, to use
/// without a warning of its compiler what may change, or is going to be removed.
#ifndef DOCA_COMPAT_H_
#define DOCA_COMPAT_H_

#include <doca_build_config.h>

/// A function that stays as it is.
#define DOCA_STABLE __attribute__((visibility("default")))

/// A function that may change.
#ifdef DOCA_ALLOW_EXPERIMENTAL_API
#define DOCA_EXPERIMENTAL __attribute__((visibility("default")))
#else
#define DOCA_EXPERIMENTAL               \
  __attribute__((visibility("default"), \
                 deprecated("experimental: define DOCA_ALLOW_EXPERIMENTAL_API to use it without this warning")))
#endif

/// A function that another one has replaced.
#ifdef DOCA_ALLOW_DEPRECATED_API
#define DOCA_DEPRECATED __attribute__((visibility("default")))
#else
#define DOCA_DEPRECATED                 \
  __attribute__((visibility("default"), \
                 deprecated("deprecated: define DOCA_ALLOW_DEPRECATED_API to use it without this warning")))
#endif

#endif  // DOCA_COMPAT_H_

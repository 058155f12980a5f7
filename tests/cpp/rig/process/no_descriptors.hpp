#pragma once

#include "detail/fd.hpp"

#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace pydoca {

/// Leaves this process without a free descriptor.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &old_);
    rlimit low = old_;
    low.rlim_cur = 100;
    ::setrlimit(RLIMIT_NOFILE, &low);
    for (int fd = ::dup(0); fd >= 0; fd = ::dup(0)) {
      taken_.emplace_back(fd);
    }
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &old_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit old_{};
  std::vector<detail::Fd> taken_;
};

/// UBSan opens a pipe to read an object's type; when that fails, it reports the object as broken.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitizer_needs_descriptors = true;
#else
inline constexpr bool sanitizer_needs_descriptors = false;
#endif

}  // namespace pydoca

#include "detail/system/guarded_copy.hpp"

#include <cerrno>
#include <cstring>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

namespace pydoca::detail {

namespace {

/// The kernel answers EFAULT for both of its arguments.
ssize_t copy_by_kernel(std::byte* dst, const std::byte* src, std::size_t size) noexcept {
  const iovec here{dst, size};
  const iovec there{const_cast<std::byte*>(src), size};
  return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0);
}

}  // namespace

bool copy_guarded(std::byte* dst, const std::byte* src, std::size_t size) noexcept {
  for (std::size_t done = 0; done < size;) {
    const ssize_t copied = copy_by_kernel(dst + done, src + done, size - done);
    if (copied > 0) {
      done += static_cast<std::size_t>(copied);
    } else if (copied < 0 && (errno == EPERM || errno == ENOSYS)) {
      std::memcpy(dst + done, src + done, size - done);
      return true;
    } else if (copied == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool is_there(const std::byte* byte) noexcept {
  std::byte copy{};
  return copy_guarded(&copy, byte, 1);
}

}  // namespace pydoca::detail

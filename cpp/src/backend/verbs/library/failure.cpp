#include "backend/verbs/library/failure.hpp"

#include <cerrno>
#include <cstring>

namespace pydoca::verbs {

Status status_of(int error) noexcept {
  switch (error) {
    case EINVAL:
    case EFAULT:
      return Status::invalid_value;
    case ENOMEM:
      return Status::no_memory;
    case EACCES:
    case EPERM:
      return Status::not_permitted;
    case EAGAIN:
    case EINTR:
      return Status::again;
    case EIO:
    case ENODEV:
    case ENXIO:
      return Status::driver;
    case ENOSYS:
    case EOPNOTSUPP:
      return Status::not_supported;
    case EADDRINUSE:
      return Status::already_exist;
    case ETIMEDOUT:
      return Status::time_out;
    default:
      return Status::operating_system;
  }
}

std::string describe_error(int error) {
  const char* advice = "";
  switch (error) {
    case ENOMEM:
      advice = "; raise the limit of locked memory (ulimit -l), or ask for less";
      break;
    case EACCES:
    case EPERM:
      advice = "; this user needs access to /dev/infiniband";
      break;
    case EFAULT:
      advice = "; part of the range is not mapped, or is read-only and was to be written";
      break;
    case EIO:
    case ENODEV:
    case ENXIO:
      advice = "; the device is gone or broken";
      break;
    default:
      break;
  }
  return detail::concat(std::strerror(error), advice);
}

}  // namespace pydoca::verbs

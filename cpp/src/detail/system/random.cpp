#include "detail/system/random.hpp"

#include "pydoca/status.hpp"

#include "detail/concat.hpp"
#include "detail/system_reason.hpp"

#include <cerrno>
#include <sys/random.h>
#include <sys/types.h>

namespace pydoca::detail {

void fill_with_random(std::span<std::byte> bytes) {
  // A call for so few bytes gives them all, whatever signal arrives meanwhile.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(Status::operating_system, concat("cannot get random numbers: ", system_reason(errno)));
  }
}

}  // namespace pydoca::detail

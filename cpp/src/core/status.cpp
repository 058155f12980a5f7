#include <pydoca/status.hpp>

#include "detail/concat.hpp"

#include <array>

namespace pydoca {
namespace {

struct Entry {
  std::string_view name;
  std::string_view descr;
};

// Indexed by the status' number.
constexpr std::array<Entry, status_count> entries{{
    {"DOCA_SUCCESS", "the operation succeeded"},
    {"DOCA_ERROR_UNKNOWN", "it failed for a reason that is not known"},
    {"DOCA_ERROR_NOT_PERMITTED", "the object or the caller may not do this"},
    {"DOCA_ERROR_IN_USE", "something else still uses the object"},
    {"DOCA_ERROR_NOT_SUPPORTED", "the device or this build cannot do this"},
    {"DOCA_ERROR_AGAIN", "not possible right now; try again later"},
    {"DOCA_ERROR_INVALID_VALUE", "an argument has a value that cannot be accepted"},
    {"DOCA_ERROR_NO_MEMORY", "no memory, or no free slot, is left"},
    {"DOCA_ERROR_INITIALIZATION", "initialization failed"},
    {"DOCA_ERROR_TIME_OUT", "the time allowed has passed"},
    {"DOCA_ERROR_SHUTDOWN", "the object is being shut down"},
    {"DOCA_ERROR_CONNECTION_RESET", "the peer reset the connection"},
    {"DOCA_ERROR_CONNECTION_ABORTED", "the connection was aborted"},
    {"DOCA_ERROR_CONNECTION_INPROGRESS", "the connection is still being set up"},
    {"DOCA_ERROR_NOT_CONNECTED", "there is no connection"},
    {"DOCA_ERROR_NO_LOCK", "the lock could not be taken"},
    {"DOCA_ERROR_NOT_FOUND", "no such object"},
    {"DOCA_ERROR_IO_FAILED", "the input or output operation failed"},
    {"DOCA_ERROR_BAD_STATE", "the object is in the wrong state for this"},
    {"DOCA_ERROR_UNSUPPORTED_VERSION", "the version is not supported"},
    {"DOCA_ERROR_OPERATING_SYSTEM", "a call to the operating system failed"},
    {"DOCA_ERROR_DRIVER", "the driver reported a failure"},
    {"DOCA_ERROR_UNEXPECTED", "something happened that should not be possible"},
    {"DOCA_ERROR_ALREADY_EXIST", "it exists already"},
    {"DOCA_ERROR_FULL", "no more entries fit"},
    {"DOCA_ERROR_EMPTY", "no entry is left"},
    {"DOCA_ERROR_IN_PROGRESS", "the operation has begun and is not over yet"},
    {"DOCA_ERROR_TOO_BIG", "it exceeds what the receiver can hold"},
    {"DOCA_ERROR_AUTHENTICATION", "the authentication failed"},
    {"DOCA_ERROR_BAD_CONFIG", "the configuration is not usable"},
    {"DOCA_ERROR_SKIPPED", "the operation was not carried out"},
}};

constexpr Entry unrecognized{"DOCA_ERROR_UNRECOGNIZED", "the number is not a known status"};

/// what() would end at a NUL that came with a name.
std::string visible(std::string text) {
  for (std::size_t at = text.find('\0'); at != std::string::npos; at = text.find('\0', at)) text.replace(at, 1, "\\0");
  return text;
}

const Entry& entry(Status status) noexcept {
  const auto number = static_cast<std::uint32_t>(status);
  return number < status_count ? entries[number] : unrecognized;
}

}  // namespace

std::string_view error_name(Status status) noexcept { return entry(status).name; }

std::string_view error_descr(Status status) noexcept { return entry(status).descr; }

Error::Error(Status status, const std::string& message) : std::runtime_error(visible(message)), status_(status) {}

void require(Status status, std::string_view what) {
  if (status != Status::success) {
    throw Error(status, detail::concat(what, ": ", error_descr(status)));
  }
}

}  // namespace pydoca

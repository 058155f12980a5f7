/// Result codes, numbered as DOCA numbers them, and the exception that carries one.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)

namespace pydoca {

enum class [[nodiscard]] Status : std::uint32_t {
  success = 0,
  unknown = 1,
  not_permitted = 2,
  in_use = 3,
  not_supported = 4,
  again = 5,
  invalid_value = 6,
  no_memory = 7,
  initialization = 8,
  time_out = 9,
  shutdown = 10,
  connection_reset = 11,
  connection_aborted = 12,
  connection_inprogress = 13,
  not_connected = 14,
  no_lock = 15,
  not_found = 16,
  io_failed = 17,
  bad_state = 18,
  unsupported_version = 19,
  operating_system = 20,
  driver = 21,
  unexpected = 22,
  already_exist = 23,
  full = 24,
  empty = 25,
  in_progress = 26,
  too_big = 27,
  authentication = 28,
  bad_config = 29,
  skipped = 30,
};

/// Statuses are numbered 0 .. status_count - 1 without gaps.
inline constexpr std::uint32_t status_count = 31;

/// DOCA's symbolic name, such as "DOCA_ERROR_AGAIN"; "DOCA_SUCCESS" for success.
/// A number outside the enumeration gives "DOCA_ERROR_UNRECOGNIZED". Never empty, and null-terminated.
[[nodiscard]] std::string_view error_name(Status status) noexcept;

/// One sentence for people, under the same rules as error_name.
[[nodiscard]] std::string_view error_descr(Status status) noexcept;

/// What the control path throws. what() says what was attempted, with values, and what to do.
class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& message);

  Status status() const noexcept { return status_; }

 private:
  Status status_;
};

/// Throws an Error unless status is success: "what: error_descr(status)", for programs that prefer exceptions. Also for
/// in_progress, with which Context::start() and stop() may answer: look at that before.
void require(Status status, std::string_view what);

}  // namespace pydoca

#pragma GCC visibility pop

#include <pydoca/status.hpp>

#include "detail/concat.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <set>
#include <string>

namespace pydoca {
namespace {

struct Row {
  Status status;
  std::uint32_t number;
  const char* name;
};

// DOCA's table, written out: if a number shifts in the engine, it must differ from this table.
constexpr std::array<Row, 31> table{{
    {Status::success, 0, "DOCA_SUCCESS"},
    {Status::unknown, 1, "DOCA_ERROR_UNKNOWN"},
    {Status::not_permitted, 2, "DOCA_ERROR_NOT_PERMITTED"},
    {Status::in_use, 3, "DOCA_ERROR_IN_USE"},
    {Status::not_supported, 4, "DOCA_ERROR_NOT_SUPPORTED"},
    {Status::again, 5, "DOCA_ERROR_AGAIN"},
    {Status::invalid_value, 6, "DOCA_ERROR_INVALID_VALUE"},
    {Status::no_memory, 7, "DOCA_ERROR_NO_MEMORY"},
    {Status::initialization, 8, "DOCA_ERROR_INITIALIZATION"},
    {Status::time_out, 9, "DOCA_ERROR_TIME_OUT"},
    {Status::shutdown, 10, "DOCA_ERROR_SHUTDOWN"},
    {Status::connection_reset, 11, "DOCA_ERROR_CONNECTION_RESET"},
    {Status::connection_aborted, 12, "DOCA_ERROR_CONNECTION_ABORTED"},
    {Status::connection_inprogress, 13, "DOCA_ERROR_CONNECTION_INPROGRESS"},
    {Status::not_connected, 14, "DOCA_ERROR_NOT_CONNECTED"},
    {Status::no_lock, 15, "DOCA_ERROR_NO_LOCK"},
    {Status::not_found, 16, "DOCA_ERROR_NOT_FOUND"},
    {Status::io_failed, 17, "DOCA_ERROR_IO_FAILED"},
    {Status::bad_state, 18, "DOCA_ERROR_BAD_STATE"},
    {Status::unsupported_version, 19, "DOCA_ERROR_UNSUPPORTED_VERSION"},
    {Status::operating_system, 20, "DOCA_ERROR_OPERATING_SYSTEM"},
    {Status::driver, 21, "DOCA_ERROR_DRIVER"},
    {Status::unexpected, 22, "DOCA_ERROR_UNEXPECTED"},
    {Status::already_exist, 23, "DOCA_ERROR_ALREADY_EXIST"},
    {Status::full, 24, "DOCA_ERROR_FULL"},
    {Status::empty, 25, "DOCA_ERROR_EMPTY"},
    {Status::in_progress, 26, "DOCA_ERROR_IN_PROGRESS"},
    {Status::too_big, 27, "DOCA_ERROR_TOO_BIG"},
    {Status::authentication, 28, "DOCA_ERROR_AUTHENTICATION"},
    {Status::bad_config, 29, "DOCA_ERROR_BAD_CONFIG"},
    {Status::skipped, 30, "DOCA_ERROR_SKIPPED"},
}};

TEST(Status, HasDocasNumberAndName) {
  ASSERT_EQ(table.size(), status_count);
  for (const auto& row : table) {
    EXPECT_EQ(static_cast<std::uint32_t>(row.status), row.number) << row.name;
    EXPECT_EQ(error_name(row.status), row.name);
  }
}

TEST(Status, HasADescriptionOfItsOwn) {
  std::set<std::string_view> seen;
  for (const auto& row : table) {
    EXPECT_FALSE(error_descr(row.status).empty()) << row.name;
    EXPECT_TRUE(seen.insert(error_descr(row.status)).second) << row.name;
  }
}

TEST(Status, OutsideTheTableHasAFixedText) {
  for (const std::uint32_t number : {status_count, status_count + 1, 0xffffffffU}) {
    EXPECT_EQ(error_name(static_cast<Status>(number)), "DOCA_ERROR_UNRECOGNIZED");
    EXPECT_EQ(error_descr(static_cast<Status>(number)), "the number is not a known status");
  }
}

TEST(Error, CarriesStatusAndMessage) {
  try {
    throw Error(Status::in_use, "cannot close pf0: 2 contexts use it; stop them first");
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "cannot close pf0: 2 contexts use it; stop them first");
    EXPECT_EQ(dynamic_cast<const Error&>(error).status(), Status::in_use);
  }
}

TEST(Concat, JoinsStringsNumbersAndStatuses) {
  const std::string text = "view";
  EXPECT_EQ(detail::concat("a ", std::string_view(text), ' ', -7, ' ', 18446744073709551615ULL, ' ', true),
            "a view -7 18446744073709551615 true");
  EXPECT_EQ(detail::concat(Status::again, ", ", 0.5), "DOCA_ERROR_AGAIN, 0.5");
  EXPECT_EQ(detail::concat(std::uint8_t{65}), "65");
}

TEST(Concat, WritesOfAFractionTheDigitsThatItTakesToReadItBack) {
  EXPECT_EQ(detail::concat(0.1, ' ', -1.5, ' ', 1000000.0), "0.1 -1.5 1000000");
  EXPECT_EQ(detail::concat(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(detail::concat(1.0 + std::numeric_limits<double>::epsilon()), "1.0000000000000002");
}

TEST(Concat, WritesAPointedToStringAndNotABoolean) {
  const char* const text = "text";
  EXPECT_EQ(detail::concat(text), "text");
}

TEST(Concat, WritesHex) {
  EXPECT_EQ(detail::concat(detail::hex(0)), "0x0");
  EXPECT_EQ(detail::concat(detail::hex(~std::uint64_t{0})), "0xffffffffffffffff");
  EXPECT_EQ(detail::concat(detail::hex(reinterpret_cast<const void*>(0x1f0))), "0x1f0");
}

}  // namespace
}  // namespace pydoca

#include "pydoca/value.hpp"

#include "rig/expect_error.hpp"
#include "rig/temporary_directory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

namespace pydoca {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) {
    all += text;
  }
  return all;
}

TEST(TomlTest, KeysKeepTheOrderOfTheText) {
  const Table table = parse_toml("\xEF\xBB\xBFz = 1\na = [true, 2.5, 'x']\n[t]\nday = 2026-01-31\nc.d = -1\n[b]\n");
  EXPECT_EQ(text_of(table), "{'z': 1, 'a': [True, 2.5, 'x'], 't': {'day': 2026-01-31, 'c': {'d': -1}}, 'b': {}}");
}

TEST(TomlTest, WhatIsNotTomlHasItsPlace) {
  for (const auto& [text, place] :
       {std::pair("a = 1\n[[function]\n", "(at line 2, column 12)"),
        std::pair("a = 1\na = 2\n", "(at line 2, column 5)"), std::pair("a = 99999999999999999999\n", "(at line 1"),
        std::pair("\xff\xfe", "(at line 1"), std::pair("a = \"\x01\"", "(at line 1"), std::pair("=", "(at line 1"),
        std::pair("a = 1\nb = 2\u00e9", "(at line 2, column 6)"), std::pair("\u032a", "(at line 1")}) {
    EXPECT_EQ(thrown_by([&] { static_cast<void>(parse_toml(text)); }), Status::invalid_value) << text;
    EXPECT_THAT(reason_of([&] { static_cast<void>(parse_toml(text)); }), HasSubstr(place));
  }
}

TEST(TomlTest, LettersMayFollowTheEndOfALine) {
  EXPECT_EQ(text_of(parse_toml("a = 'x' # \u00e9\nb = \"\"\"\\\n  \u00a7\"\"\"\n")), "{'a': 'x', 'b': '\u00a7'}");
}

TEST(TomlTest, WhatIsTooMuchSaysSo) {
  for (const std::string& text :
       {"a = " + repeated("[", 100'000), "a = " + repeated("{a=", 100'000), repeated("a.", 1'000'000) + "a = 1",
        "[" + repeated("a.", 1'000'000) + "a]", repeated("\"a\" . 'b'.", 100'000) + "a = 1"}) {
    EXPECT_THAT(reason_of([&] { static_cast<void>(parse_toml(text)); }), HasSubstr("nested too deeply"));
  }
  EXPECT_THAT(reason_of([] { static_cast<void>(parse_toml(std::string((16 << 20) + 1, '\n'))); }),
              EndsWith("larger than 16 MiB"));
  const std::string points = repeated(".", 1000);
  EXPECT_EQ(text_of(parse_toml("# " + points + "\na = '''" + points + "'''\nb = \"\\\"" + points + "\"\n")),
            "{'a': '" + points + "', 'b': '\"" + points + "'}");
}

TEST(TomlTest, ErrorsOfAFileNameIt) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() / "a.toml";
  const auto reason = [&] { return reason_of([&] { static_cast<void>(read_toml(path)); }); };
  EXPECT_EQ(thrown_by([&] { static_cast<void>(read_toml(path)); }), Status::not_found);
  EXPECT_EQ(reason(), path + ": No such file or directory");
  std::filesystem::create_directory(path);
  EXPECT_EQ(thrown_by([&] { static_cast<void>(read_toml(path)); }), Status::operating_system);
  std::filesystem::remove(path);
  std::ofstream(path) << "[";
  EXPECT_THAT(reason(), AllOf(StartsWith(path + ": "), HasSubstr("line 1")));
  if (::geteuid() != 0) {
    std::filesystem::permissions(path, std::filesystem::perms::none);
    EXPECT_EQ(thrown_by([&] { static_cast<void>(read_toml(path)); }), Status::not_permitted);
  }
  EXPECT_EQ(thrown_by([] { static_cast<void>(read_toml(std::string("a\0b", 3))); }), Status::operating_system);
}

TEST(ValueTest, AValueIsShownAsItIsWritten) {
  EXPECT_EQ(text_of(Value()), "None");
  EXPECT_EQ(text_of(25.0), "25.0");
  EXPECT_EQ(text_of(1e300), "1e+300");
  EXPECT_EQ(text_of(UINT64_MAX), "18446744073709551615");
  EXPECT_EQ(text_of("it's"), "\"it's\"");
  EXPECT_EQ(text_of("a\n\x01\\"), "'a\\n\\x01\\\\'");
}

}  // namespace
}  // namespace pydoca

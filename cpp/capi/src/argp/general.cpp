#include "argp/general.hpp"

namespace pydoca::capi::argp {
namespace {

Flag make(const char* short_name, const char* long_name, const char* arguments, doca_argp_type type,
          const char* description) {
  Flag flag;
  flag.short_name = short_name;
  flag.long_name = long_name;
  flag.arguments = arguments;
  flag.type = type;
  flag.description = description;
  return flag;
}

constexpr auto levels = "10 none, 20 critical, 30 errors, 40 warnings, 50 information, 60 debugging, 70 all";

}  // namespace

const std::array<Flag, num_general>& general_flags() {
  static const auto* const flags = new std::array<Flag, num_general>{
      make("h", "help", "", DOCA_ARGP_TYPE_BOOLEAN, "Show this text and exit"),
      make("v", "version", "", DOCA_ARGP_TYPE_BOOLEAN, "Show the version and exit"),
      make("l", "log-level", "<level>", DOCA_ARGP_TYPE_INT,
           std::string("Messages of the program: ").append(levels).c_str()),
      make("", "sdk-log-level", "<level>", DOCA_ARGP_TYPE_INT,
           std::string("Messages of the library: ").append(levels).c_str()),
      make("j", "json", "<path>", DOCA_ARGP_TYPE_STRING, "Take flags from a JSON file")};
  return *flags;
}

bool is_general(const Flag& flag) {
  for (const Flag& one : general_flags()) {
    if (&one == &flag) {
      return true;
    }
  }
  return false;
}

}  // namespace pydoca::capi::argp

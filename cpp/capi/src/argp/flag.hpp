/// What a program takes on its command line: flags, and commands that have flags and commands of their own.
#pragma once

#include "base/handle.hpp"

#include <doca_argp.h>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::capi::argp {

struct Flag {
  std::string short_name = {};
  std::string long_name = {};
  std::string arguments = {};
  std::string description = {};
  doca_argp_param_cb_t callback = nullptr;
  doca_argp_type type = DOCA_ARGP_TYPE_UNKNOWN;
  bool is_mandatory = false;
  bool is_cli_only = false;
  bool is_multiple = false;
  bool is_singular = false;
  bool is_inherited = false;
  bool is_hidden = false;
};

/// The flag as a user writes it: "--device", or "-d" when it has no long name.
inline std::string written(const Flag& flag) {
  return flag.long_name.empty() ? "-" + flag.short_name : "--" + flag.long_name;
}

/// The program itself, or one of its commands.
struct Level {
  std::string name = {};
  std::string description = {};
  doca_argp_cmd_cb_t callback = nullptr;
  bool is_hidden = false;
  std::vector<const Flag*> flags = {};
  std::vector<const Level*> commands = {};

  /// Another level is needed below this one.
  bool needs_command() const noexcept { return !commands.empty() && callback == nullptr; }
};

/// The program, the command that was chosen, the command of that one ...
using Chain = std::vector<const Level*>;

/// Throws invalid_value for a word that cannot be the name of a flag or a command. No name at all passes.
void require_name(std::string_view name);

/// Throws initialization when a part is missing, and invalid_value for a malformed name and for the name of another
/// flag, which may be a general one.
void add_flag(Level& level, const Flag& flag);
void add_command(Level& level, const Level& command);

}  // namespace pydoca::capi::argp

struct doca_argp_param : pydoca::capi::Handle<"flag of a program">, pydoca::capi::argp::Flag {
  bool is_registered = false;
};

struct doca_argp_cmd : pydoca::capi::Handle<"command of a program">, pydoca::capi::argp::Level {
  bool is_registered = false;
};

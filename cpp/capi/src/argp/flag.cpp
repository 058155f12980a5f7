#include "argp/flag.hpp"

#include "pydoca/status.hpp"

#include "argp/general.hpp"

#include <algorithm>

namespace pydoca::capi::argp {
namespace {

bool share_a_name(const Flag& one, const Flag& other) noexcept {
  return (!one.short_name.empty() && one.short_name == other.short_name) ||
         (!one.long_name.empty() && one.long_name == other.long_name);
}

void require_part(bool is_there, const std::string& whose, std::string_view part) {
  if (!is_there) {
    throw Error(Status::initialization, whose + " lacks its " + std::string(part) + ": set it before it is registered");
  }
}

void require_complete(const Flag& flag) {
  if (flag.short_name.empty() && flag.long_name.empty()) {
    throw Error(Status::initialization, "a flag lacks a name, short or long: set one before it is registered");
  }
  require_part(!flag.description.empty(), written(flag), "description");
  require_part(flag.callback != nullptr, written(flag), "callback");
  require_part(flag.type != DOCA_ARGP_TYPE_UNKNOWN, written(flag), "type");
  if (flag.type < DOCA_ARGP_TYPE_STRING || flag.type > DOCA_ARGP_TYPE_JSON_OBJ) {
    throw Error(Status::invalid_value, written(flag) + " has the type " + std::to_string(flag.type) +
                                           ", which is none of enum doca_argp_type");
  }
}

}  // namespace

void require_name(std::string_view name) {
  const bool is_plain =
      std::all_of(name.begin(), name.end(), [](char letter) { return letter > ' ' && letter != '='; });
  if (!name.empty() && (name.front() == '-' || !is_plain)) {
    throw Error(Status::invalid_value,
                "\"" + std::string(name) + "\" cannot be a name: it begins with a dash, or has a space or a '='");
  }
}

void add_flag(Level& level, const Flag& flag) {
  require_complete(flag);
  require_name(flag.short_name);
  require_name(flag.long_name);
  const auto clashes = [&](const Flag& other) { return share_a_name(flag, other); };
  const auto& general = general_flags();
  if (std::any_of(general.begin(), general.end(), clashes) ||
      std::any_of(level.flags.begin(), level.flags.end(), [&](const Flag* other) { return clashes(*other); })) {
    throw Error(Status::invalid_value, written(flag) + " has a name that another flag has");
  }
  level.flags.push_back(&flag);
}

void add_command(Level& level, const Level& command) {
  require_part(!command.name.empty(), "a command", "name");
  require_part(!command.description.empty(), "the command " + command.name, "description");
  require_name(command.name);
  if (std::any_of(level.commands.begin(), level.commands.end(),
                  [&](const Level* other) { return other->name == command.name; })) {
    throw Error(Status::invalid_value, "there is a command " + command.name + " already");
  }
  level.commands.push_back(&command);
}

}  // namespace pydoca::capi::argp

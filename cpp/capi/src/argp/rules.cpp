#include "argp/rules.hpp"

#include "pydoca/status.hpp"

#include "argp/general.hpp"

#include <algorithm>
#include <string>

namespace pydoca::capi::argp {
namespace {

bool has(const std::vector<Given>& given, const Flag& flag) {
  return std::any_of(given.begin(), given.end(), [&](const Given& one) { return one.flag == &flag; });
}

/// Whether there is a flag that stands alone.
bool is_alone(const std::vector<Given>& given) {
  const auto singular =
      std::find_if(given.begin(), given.end(), [](const Given& one) { return one.flag->is_singular; });
  if (singular == given.end()) {
    return false;
  }
  const auto other = std::find_if(given.begin(), given.end(), [&](const Given& one) {
    return one.flag != singular->flag && !is_general(*one.flag);
  });
  if (other != given.end()) {
    throw Error(Status::invalid_value,
                singular->place + ": it stands without other flags, and " + other->place + " is given too");
  }
  return true;
}

std::string names_of(const std::vector<const Level*>& commands) {
  std::string names;
  for (const Level* const command : commands) {
    if (!command->is_hidden) {
      names.append(names.empty() ? "" : ", ").append(command->name);
    }
  }
  return names;
}

}  // namespace

void require_complete(const Chain& chain, const std::vector<Given>& given) {
  if (is_alone(given)) {
    return;
  }
  for (const Level* const level : chain) {
    for (const Flag* const flag : level->flags) {
      if (flag->is_mandatory && !has(given, *flag)) {
        throw Error(Status::initialization, written(*flag) + ": it is mandatory, and is not given");
      }
    }
  }
  if (chain.back()->needs_command()) {
    throw Error(Status::initialization, "a command is missing; there are: " + names_of(chain.back()->commands));
  }
}

void require_once(const std::vector<Given>& given) {
  for (auto one = given.begin(); one != given.end(); ++one) {
    const auto same = [&](const Given& earlier) { return earlier.flag == one->flag; };
    if (!one->flag->is_multiple && std::any_of(given.begin(), one, same)) {
      throw Error(Status::invalid_value, one->place + ": it is given twice");
    }
  }
}

}  // namespace pydoca::capi::argp

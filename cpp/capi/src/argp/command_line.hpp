#pragma once

#include "argp/flag.hpp"
#include "argp/general.hpp"
#include "argp/value.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace pydoca::capi::argp {

/// What the words of a command line say.
struct CommandLine {
  Chain chain;
  std::vector<Given> given;  ///< in the order of the words, general flags among them
  /// help or version, with which parsing ended.
  std::optional<General> asked = {};
};

/// Throws not_supported for a word that is not a flag or a command there, and invalid_value for a value that is
/// missing, too many, or not of the flag's type.
CommandLine parse(const Level& program, std::span<const std::string_view> words);

/// The flag that has this long name where the chain ends, and is a general one or not; nullptr when there is none. A
/// file may give the flags of all levels of the chain.
const Flag* find_in_file(const Chain& chain, std::string_view long_name, bool is_general);

}  // namespace pydoca::capi::argp

#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Patterns of text: @name@ stands for a word.
namespace pydoca::capi {

using Words = std::vector<std::pair<std::string_view, std::string>>;

/// pattern with its words put in, and lines of more than 120 columns broken. Throws std::out_of_range for a
/// word that is not given.
std::string expand(std::string_view pattern, const Words& words);

}  // namespace pydoca::capi

/// What users write, compared with the words that exist.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)

namespace pydoca {

/// The entry of known that is most similar to word; empty when none is similar enough.
[[nodiscard]] std::string_view nearest_to(std::string_view word, const std::vector<std::string_view>& known);

/// Throws invalid_value, with the nearest known word: word is not one of known. what, such as "access", names it.
[[noreturn]] void refuse_word(std::string_view what, std::string_view word, const std::vector<std::string_view>& known);

/// word in quotes, with escapes for characters that cannot be shown.
[[nodiscard]] std::string in_quotes(std::string_view word);

}  // namespace pydoca

#pragma GCC visibility pop

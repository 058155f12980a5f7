#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace pydoca::sim {

/// A text of another process, as far as it can be shown in a log, a message or a terminal: other characters than those
/// of printable ASCII become question marks, and the end of a long text is cut off.
inline std::string peer_text(std::string_view text) {
  constexpr std::size_t most = 512;
  std::string shown(text.substr(0, std::min(most, text.find('\0'))));
  std::ranges::replace_if(shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return shown;
}

}  // namespace pydoca::sim

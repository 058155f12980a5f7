#include "words.hpp"

#include <stdexcept>

namespace pydoca::capi {

namespace {

constexpr std::size_t columns = 120;

const std::string& find_word(const Words& words, std::string_view name) {
  for (const auto& [known, word] : words) {
    if (known == name) {
      return word;
    }
  }
  throw std::out_of_range("no word for @" + std::string(name) + "@");
}

std::string break_line(std::string_view line) {
  std::string broken;
  while (line.size() > columns) {
    const std::size_t comma = line.rfind(", ", columns - 1);
    if (comma == std::string_view::npos || line.starts_with("///")) {
      break;
    }
    broken.append(line.substr(0, comma + 1)).append("\n");
    line.remove_prefix(comma + 2);
    broken.append("    ");
  }
  return broken.append(line);
}

std::string break_lines(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines += break_line(text.substr(0, end));
    if (end == std::string_view::npos) {
      break;
    }
    lines += '\n';
    text.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace

std::string expand(std::string_view pattern, const Words& words) {
  std::string text;
  for (std::size_t at = pattern.find('@'); at != std::string_view::npos; at = pattern.find('@')) {
    const std::size_t end = pattern.find('@', at + 1);
    text.append(pattern.substr(0, at)).append(find_word(words, pattern.substr(at + 1, end - at - 1)));
    pattern.remove_prefix(end + 1);
  }
  return break_lines(text.append(pattern));
}

}  // namespace pydoca::capi

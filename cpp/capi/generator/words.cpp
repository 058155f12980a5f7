#include "words.hpp"

#include <algorithm>
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

/// Where to break a line of code or a comment before that column; npos: nowhere.
std::size_t place_to_break(std::string_view line, bool is_comment, std::size_t column) {
  if (is_comment) {
    return line.rfind(' ', column);
  }
  const std::size_t comma = line.rfind(", ", column - 1);
  const std::size_t place = comma != std::string_view::npos ? comma : line.rfind('(', column - 1);
  return place == std::string_view::npos ? line.rfind(' ', column) : place + 1;
}

std::string break_line(std::string_view line) {
  const bool is_comment = line.starts_with("///");
  const std::string_view indent = is_comment ? "/// " : "    ";
  std::string broken;
  for (std::size_t room = columns; line.size() > room; room = columns - indent.size()) {
    const std::size_t place = place_to_break(line, is_comment, room);
    if (place == std::string_view::npos) {
      break;
    }
    broken.append(line.substr(0, place)).append("\n").append(indent);
    line.remove_prefix(line[place] == ' ' ? place + 1 : place);
  }
  return broken.append(line);
}

/// The text with each comment of several lines in one line, as words have changed where its lines end.
std::string join_comments(std::string_view text) {
  std::string joined;
  bool is_comment = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    const bool goes_on = is_comment && line.starts_with("/// ");
    if (goes_on) {
      joined.back() = ' ';
      line.remove_prefix(4);
    }
    is_comment = goes_on || line.starts_with("///");
    joined.append(line).append(text.substr(end, 1));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return joined;
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
  return break_lines(join_comments(text.append(pattern)));
}

}  // namespace pydoca::capi

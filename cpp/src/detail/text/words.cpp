#include "pydoca/words.hpp"

#include "pydoca/status.hpp"

#include "detail/concat.hpp"

#include <algorithm>
#include <array>

namespace pydoca {

namespace {

/// How many characters are in the longest common part of both, in those of what is left of it, of what is right of it,
/// and so on (Ratcliff and Obershelp).
std::size_t common_characters(std::string_view one, std::string_view other) noexcept {
  std::size_t begin = 0;
  std::size_t other_begin = 0;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    for (std::size_t k = 0; k < other.size(); ++k) {
      const auto end = std::mismatch(one.begin() + static_cast<std::ptrdiff_t>(i), one.end(),
                                     other.begin() + static_cast<std::ptrdiff_t>(k), other.end());
      const auto length = static_cast<std::size_t>(end.first - one.begin()) - i;
      if (length > longest) {
        begin = i;
        other_begin = k;
        longest = length;
      }
    }
  }
  if (longest == 0) {
    return 0;
  }
  return longest + common_characters(one.substr(0, begin), other.substr(0, other_begin)) +
         common_characters(one.substr(begin + longest), other.substr(other_begin + longest));
}

/// 0, nothing in common, to 1.
double similarity(std::string_view one, std::string_view other) noexcept {
  const std::size_t size = one.size() + other.size();
  return size == 0 ? 1.0 : 2.0 * static_cast<double>(common_characters(one, other)) / static_cast<double>(size);
}

struct Renamed {
  std::string_view old;
  std::string_view now;
};

/// Names of DOCA 2.0 to 2.6, and pydoca's.
constexpr std::array renamed{
    Renamed{"dpu", "remote_pci"},
    Renamed{"dpu_read_only", "pci_read_only"},
    Renamed{"dpu_read_write", "pci_read_write"},
    Renamed{"update_set", "notify_set"},
    Renamed{"update_add", "notify_add"},
    Renamed{"wait", "wait_gt"},
};

/// Words that programs write for pydoca's, though no version of DOCA has them, and letters alone lead elsewhere.
constexpr std::array other_words{
    Renamed{"operation", "opcode"},
    Renamed{"op", "opcode"},
    Renamed{"kind", "opcode"},
};

template <class Pairs>
std::string_view replacement(const Pairs& pairs, std::string_view word, const std::vector<std::string_view>& known) {
  const auto found = std::ranges::find_if(pairs, [&](const Renamed& pair) {
    return pair.old == word && std::ranges::find(known, pair.now) != known.end();
  });
  return found == pairs.end() ? std::string_view() : found->now;
}

std::string hint_for(std::string_view word, const std::vector<std::string_view>& known) {
  if (const std::string_view now = replacement(renamed, word, known); !now.empty()) {
    return detail::concat("DOCA up to 2.6 has that name; write '", now, "'");
  }
  const std::string_view ours = replacement(other_words, word, known);
  const std::string_view nearest = ours.empty() ? nearest_to(word, known) : ours;
  return nearest.empty() ? "use one of: " + detail::listed(known) : detail::concat("did you mean '", nearest, "'?");
}

}  // namespace

std::string_view nearest_to(std::string_view word, const std::vector<std::string_view>& known) {
  constexpr double similar_enough = 0.6;
  constexpr std::size_t longest = 256;  // so long a word is not mistyped; the comparison takes its square
  std::pair<double, std::string_view> best{similar_enough, {}};
  for (const std::string_view each : known) {
    if (word.size() <= longest && each.size() <= longest) {
      best = std::max(best, {similarity(each, word), each});
    }
  }
  return best.second;
}

void refuse_word(std::string_view what, std::string_view word, const std::vector<std::string_view>& known) {
  throw Error(Status::invalid_value,
              detail::concat(what, ' ', in_quotes(word), " does not exist; ", hint_for(word, known)));
}

std::string in_quotes(std::string_view word) {
  const char quote = word.find('\'') != std::string_view::npos && word.find('"') == std::string_view::npos ? '"' : '\'';
  std::string text(1, quote);
  for (const char character : word) {
    const auto code = static_cast<unsigned char>(character);
    if (character == quote || character == '\\') {
      text += {'\\', character};
    } else if (character == '\n') {
      text += "\\n";
    } else if (code < 0x20 || code == 0x7f) {
      text += {'\\', 'x', "0123456789abcdef"[code / 16], "0123456789abcdef"[code % 16]};
    } else {
      text += character;
    }
  }
  return text + quote;
}

}  // namespace pydoca

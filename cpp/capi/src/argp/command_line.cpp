#include "argp/command_line.hpp"

#include "pydoca/status.hpp"

#include <algorithm>
#include <string>

namespace pydoca::capi::argp {
namespace {

template <class Flags, class Condition>
const Flag* first_of(const Flags& flags, Condition holds) {
  for (const auto& one : flags) {
    const Flag* flag = nullptr;
    if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(one)>>) {
      flag = one;
    } else {
      flag = &one;
    }
    if (holds(*flag)) {
      return flag;
    }
  }
  return nullptr;
}

/// The first flag of the chain, its end first, for which the condition holds: holds(flag, is_at_the_end).
template <class Condition>
const Flag* find(const Chain& chain, Condition holds) {
  for (auto level = chain.rbegin(); level != chain.rend(); ++level) {
    const bool is_end = level == chain.rbegin();
    if (const Flag* const found = first_of((*level)->flags, [&](const Flag& flag) { return holds(flag, is_end); })) {
      return found;
    }
  }
  return nullptr;
}

class Parsing {
 public:
  Parsing(const Level& program, std::span<const std::string_view> words) : words_(words) {
    line_.chain.push_back(&program);
  }

  CommandLine run() {
    while (!words_.empty() && !line_.asked) {
      const std::string_view word = words_.front();
      words_ = words_.subspan(1);
      word.starts_with('-') ? take_flag(word) : take_command(word);
    }
    return std::move(line_);
  }

 private:
  /// The flag that the word is without its value. A command takes its own flags, and inherited ones.
  const Flag* flag_of(std::string_view word) const {
    const bool is_long = word.starts_with("--");
    if (!word.starts_with('-') || word.size() == (is_long ? 2 : 1)) {
      return nullptr;
    }
    const std::string_view name = word.substr(is_long ? 2 : 1);
    const auto is_named = [&](const Flag& flag) { return name == (is_long ? flag.long_name : flag.short_name); };
    const Flag* const found = find(
        line_.chain, [&](const Flag& flag, bool is_end) { return (is_end || flag.is_inherited) && is_named(flag); });
    return found != nullptr ? found : first_of(general_flags(), is_named);
  }

  void take_flag(std::string_view word) {
    const std::string_view name = word.substr(0, word.find('='));
    const Flag* const flag = flag_of(name);
    if (flag == nullptr) {
      throw Error(Status::not_supported,
                  std::string(name) + ": there is no such flag; --help shows those that there are");
    }
    const bool has_value = name.size() < word.size();
    const std::string place(name);
    if (flag->type == DOCA_ARGP_TYPE_BOOLEAN) {
      take_boolean(*flag, place, has_value);
    } else {
      const std::string_view value = has_value ? word.substr(name.size() + 1) : next_value(*flag, place);
      line_.given.push_back({flag, place, value_of(*flag, place, value)});
    }
  }

  void take_boolean(const Flag& flag, const std::string& place, bool has_value) {
    if (has_value) {
      throw Error(Status::invalid_value, place + ": it takes no value; the flag alone says true");
    }
    for (const General which : {General::help, General::version}) {
      if (&flag == &general(which)) {
        line_.asked = which;
      }
    }
    line_.given.push_back({&flag, place, true});
  }

  std::string_view next_value(const Flag& flag, const std::string& place) {
    if (words_.empty() || flag_of(words_.front().substr(0, words_.front().find('='))) != nullptr) {
      const std::string what = flag.arguments.empty() ? "a value" : flag.arguments;
      throw Error(Status::invalid_value, place + ": " + what + " is missing behind it");
    }
    const std::string_view value = words_.front();
    words_ = words_.subspan(1);
    return value;
  }

  void take_command(std::string_view word) {
    const std::vector<const Level*>& commands = line_.chain.back()->commands;
    const auto found =
        std::find_if(commands.begin(), commands.end(), [&](const Level* command) { return command->name == word; });
    if (found == commands.end()) {
      throw Error(Status::not_supported, std::string(word) + ": it is not a " +
                                             (commands.empty() ? "flag" : "command") +
                                             "; --help shows those that there are");
    }
    line_.chain.push_back(*found);
  }

  std::span<const std::string_view> words_;
  CommandLine line_;
};

}  // namespace

CommandLine parse(const Level& program, std::span<const std::string_view> words) {
  return Parsing(program, words).run();
}

const Flag* find_in_file(const Chain& chain, std::string_view long_name, bool is_general) {
  const auto is_named = [&](const Flag& flag) { return !flag.long_name.empty() && flag.long_name == long_name; };
  return is_general ? first_of(general_flags(), is_named)
                    : find(chain, [&](const Flag& flag, bool) { return is_named(flag); });
}

}  // namespace pydoca::capi::argp

#include "argp/usage.hpp"

#include "argp/general.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace pydoca::capi::argp {
namespace {

constexpr std::size_t widest = 32;  // the column of names, in characters

struct Entry {
  std::string names;
  std::string description;
};

/// "-d, --device <address>".
std::string names_of(const Flag& flag) {
  std::string text = flag.short_name.empty() ? "    " : "-" + flag.short_name;
  if (!flag.long_name.empty()) {
    text.append(flag.short_name.empty() ? "--" : ", --").append(flag.long_name);
  }
  if (!flag.arguments.empty()) {
    text.append(" ").append(flag.arguments);
  }
  return text;
}

std::string description_of(const Flag& flag) {
  std::string traits;
  for (const auto& [has, word] :
       {std::pair{flag.is_mandatory, "mandatory"}, std::pair{flag.is_multiple, "may be repeated"},
        std::pair{flag.is_singular, "without other flags"}}) {
    if (has) {
      traits.append(traits.empty() ? " (" : ", ").append(word);
    }
  }
  return flag.description + (traits.empty() ? "" : traits + ")");
}

Entry entry(const Flag& flag) { return {names_of(flag), description_of(flag)}; }
Entry entry(const Level& command) { return {command.name, command.description}; }

/// The further lines of a description stand under its first.
std::string indented(std::string text, std::size_t column) {
  for (std::size_t at = text.find('\n'); at != text.npos; at = text.find('\n', at + 1)) {
    text.insert(at + 1, column, ' ');
  }
  return text;
}

void append_section(std::string& text, std::string_view title, const std::vector<Entry>& entries) {
  if (entries.empty()) {
    return;
  }
  std::size_t width = 0;
  for (const Entry& one : entries) {
    width = std::max(width, std::min(one.names.size(), widest));
  }
  const std::size_t column = width + 4;
  text.append("\n").append(title).append(":\n");
  for (const Entry& one : entries) {
    text.append("  ").append(one.names);
    const bool is_wide = one.names.size() > width;
    text.append(is_wide ? "\n" : "").append(is_wide ? column : column - 2 - one.names.size(), ' ');
    text.append(indented(one.description, column)).append("\n");
  }
}

std::vector<Entry> flags_of(const Level& level, bool only_inherited) {
  std::vector<Entry> entries;
  for (const Flag* const flag : level.flags) {
    if (!flag->is_hidden && (!only_inherited || flag->is_inherited)) {
      entries.push_back(entry(*flag));
    }
  }
  return entries;
}

std::vector<Entry> general_entries() {
  std::vector<Entry> entries;
  for (const Flag& flag : general_flags()) {
    entries.push_back(entry(flag));
  }
  return entries;
}

std::vector<Entry> commands_of(const Level& level) {
  std::vector<Entry> entries;
  for (const Level* const command : level.commands) {
    if (!command->is_hidden) {
      entries.push_back(entry(*command));
    }
  }
  return entries;
}

/// The flags of the levels above that a command takes.
std::vector<Entry> inherited_of(const Chain& chain) {
  std::vector<Entry> entries;
  for (auto level = chain.begin(); level + 1 != chain.end(); ++level) {
    const std::vector<Entry> more = flags_of(**level, true);
    entries.insert(entries.end(), more.begin(), more.end());
  }
  return entries;
}

}  // namespace

std::string usage(std::string_view name, const Chain& chain, bool has_dpdk) {
  const Level& level = *chain.back();
  const bool is_program = chain.size() == 1;
  const std::vector<Entry> flags = flags_of(level, false);
  const std::vector<Entry> commands = commands_of(level);
  std::string text = "Usage: ";
  text.append(name).append(has_dpdk ? " [DPDK flags] --" : "");
  for (const Level* const command : chain) {
    text.append(command->name.empty() ? "" : " ").append(command->name);
  }
  text.append(" [DOCA flags]");
  text.append(flags.empty() ? "" : is_program ? " [program flags]" : " [command flags]");
  text.append(commands.empty() ? "\n" : level.needs_command() ? " <command>\n" : " [command]\n");
  if (!is_program) {
    text.append("\n").append(level.description).append("\n");
  }
  append_section(text, "DOCA flags", general_entries());
  append_section(text, is_program ? "Program flags" : "Command flags", flags);
  append_section(text, "Inherited flags", inherited_of(chain));
  append_section(text, "Commands", commands);
  return text;
}

}  // namespace pydoca::capi::argp

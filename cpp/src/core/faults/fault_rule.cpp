#include "pydoca/capability/libraries.hpp"
#include "pydoca/device_properties.hpp"
#include "pydoca/faults.hpp"
#include "pydoca/words.hpp"

#include "detail/concat.hpp"
#include "detail/table/read.hpp"
#include "detail/text/quantity.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <tuple>
#include <type_traits>

namespace pydoca {

namespace {

using detail::concat;
using detail::time_units;
using detail::Unit;
using detail::Words;

constexpr auto longest = std::int64_t{1} << 62;  // ns

/// Keys that every action has, in the order of messages, and keys of some.
constexpr std::array<std::string_view, 9> selecting{"opcode",      "device", "side",  "nth",  "every",
                                                    "probability", "times",  "after", "until"};
struct OwnKey {
  std::string_view key;
  FaultAction action;
};
constexpr std::array own_keys{OwnKey{"status", FaultAction::fail},
                              OwnKey{"by", FaultAction::delay},
                              OwnKey{"by", FaultAction::link_down},
                              OwnKey{"data", FaultAction::corrupt},
                              OwnKey{"offset", FaultAction::corrupt},
                              OwnKey{"value", FaultAction::corrupt},
                              OwnKey{"length", FaultAction::misreport_length},
                              OwnKey{"capabilities", FaultAction::misreport_capability}};

Words all_keys() {
  Words keys{"action"};
  keys.insert(keys.end(), selecting.begin(), selecting.end());
  for (const OwnKey& own : own_keys) {
    if (std::ranges::find(keys, own.key) == keys.end()) {
      keys.push_back(own.key);
    }
  }
  return keys;
}

/// A limit of the first library, in messages: "{"dma": {"max_buf_size": 4096}}".
std::string some_capabilities() {
  constexpr auto library = std::get<0>(LibraryCapabilities::fields());
  using Limits = std::remove_reference_t<decltype(LibraryCapabilities().*library.member)>::value_type;
  return concat("{\"", library.name, "\": {\"", std::get<0>(Limits::fields()).name, "\": 4096}}");
}

/// "io_failed".
std::string word_of(Status status) {
  std::string_view name = error_name(status);
  name.remove_prefix(std::string_view(status == Status::success ? "DOCA_" : "DOCA_ERROR_").size());
  std::string word(name);
  std::ranges::transform(word, word.begin(), [](unsigned char letter) { return std::tolower(letter); });
  return word;
}

/// Reads the keys of one rule.
class RuleReader {
 public:
  explicit RuleReader(const Table& keys) : keys_(keys) {
    detail::require_known(keys, "fault rule: key", all_keys());
    const Value* const action = find("action");
    if (action == nullptr) {
      throw Error(Status::invalid_value,
                  "fault rule: it needs an action, one of " + detail::listed(fault_action_names));
    }
    rule_.action = static_cast<FaultAction>(detail::to_choice(*action, "fault rule: action", fault_action_names));
    where_ = concat("fault rule ", name_of(rule_.action));
    rule_.keys = keys;
    std::erase_if(rule_.keys.entries, [](const auto& entry) { return entry.second.is_absent(); });
  }

  FaultRule read() {
    check_keys();
    read_selection();
    read_parameters();
    return std::move(rule_);
  }

 private:
  const Value* find(std::string_view key) const noexcept {
    const Value* const value = keys_.find(key);
    return value == nullptr || value->is_absent() ? nullptr : value;
  }
  std::string place_of(std::string_view key) const { return concat(where_, ": ", key); }
  template <class... Pieces>
  [[noreturn]] void refuse(const Pieces&... why) const {
    throw Error(Status::invalid_value, concat(where_, ": ", why...));
  }

  void check_keys() const {
    Words own;
    for (const OwnKey& key : own_keys) {
      if (key.action == rule_.action) {
        own.push_back(key.key);
      }
    }
    for (const auto& [key, value] : rule_.keys.entries) {
      const bool fits = key == "action" || std::ranges::find(selecting, key) != selecting.end() ||
                        std::ranges::find(own, key) != own.end();
      if (!fits) {
        refuse(key, " is a key of another action; ", name_of(rule_.action), " takes ",
               own.empty() ? "no such key" : detail::listed(own));
      }
    }
    const Value* const data = find("data");
    if (find("value") != nullptr && (data == nullptr || text_of(*data) != "'byte'")) {
      refuse("value is the one of a stuck byte; add data=\"byte\"");
    }
    if (rule_.action == FaultAction::delay && find("by") == nullptr) {
      refuse("it needs by, the time of the delay, such as by=\"2 ms\"");
    }
    if (rule_.action == FaultAction::misreport_capability && find("capabilities") == nullptr) {
      refuse("it needs capabilities, such as ", some_capabilities());
    }
  }

  void read_selection() {
    read_opcodes();
    if (const Value* const device = find("device")) {
      const auto* const name = device->as<std::string>();
      if (name == nullptr || name->empty()) {
        refuse("device must be a name or an address, a Device or a DeviceInfo, not ", text_of(*device));
      }
      rule_.device = *name;
    }
    if (const Value* const side = find("side")) {
      rule_.side = static_cast<Side>(detail::to_choice(*side, place_of("side"), side_names));
    }
    read_count("nth", rule_.nth, 1);
    read_count("every", rule_.every, 1);
    read_count("times", rule_.times, 1);
    if (const Value* const probability = find("probability")) {
      rule_.probability = to_probability(*probability);
    }
    read_time("after", rule_.after);
    read_time("until", rule_.until);
  }

  void read_parameters() {
    if (const Value* const status = find("status")) {
      rule_.status = to_status(*status);
    }
    read_time("by", rule_.by);
    if (const Value* const data = find("data")) {
      rule_.corruption = static_cast<Corruption>(detail::to_choice(*data, place_of("data"), corruption_names));
    }
    read_count("offset", rule_.offset, 0);
    read_count("value", rule_.value, 0, 255);
    read_count("length", rule_.length, 0);
    if (const Value* const table = find("capabilities")) {
      const std::string place = place_of("capabilities");
      if (const auto* const given = table->as<Table>(); given != nullptr && given->entries.empty()) {
        refuse("capabilities is an empty table, which changes nothing; give those to show, such as ",
               some_capabilities());
      }
      Capabilities scratch;
      detail::read(*table, scratch, place);
      rule_.misreport = [table = *table, place](Capabilities& can) { detail::read(table, can, place); };
    }
  }

  void read_opcodes() {
    const Value* const value = find("opcode");
    if (value == nullptr) {
      return;
    }
    const auto* const several = value->as<List>();
    if (several != nullptr && several->empty()) {
      refuse("opcode is an empty list; leave it out, for all operations that the action can meet");
    }
    for (const Value& one : several != nullptr ? *several : List{*value}) {
      add_opcodes(one);
    }
  }

  /// One opcode, or all of a library that the action can meet.
  void add_opcodes(const Value& value) {
    Words words(fault_opcodes().begin(), fault_opcodes().end());
    for (const std::string& opcode : fault_opcodes()) {
      const std::string_view library = std::string_view(opcode).substr(0, opcode.find('.'));
      if (std::ranges::find(words, library) == words.end()) {
        words.push_back(library);
      }
    }
    const std::string word(words[detail::to_choice(value, place_of("opcode"), words)]);
    if (word.find('.') != std::string::npos) {
      rule_.opcodes.push_back(word);
      return;
    }
    const std::size_t before = rule_.opcodes.size();
    std::ranges::copy_if(fault_opcodes(), std::back_inserter(rule_.opcodes), [&](const std::string& opcode) {
      return opcode.starts_with(word + '.') && can_meet(rule_.action, opcode);
    });
    if (rule_.opcodes.size() == before) {
      refuse(name_of(rule_.action), " cannot happen to an operation of ", word);
    }
  }

  template <class Field>
  void read_count(std::string_view key, Field& field, std::uint64_t least, std::uint64_t most = UINT64_MAX) const {
    if (const Value* const value = find(key)) {
      field = static_cast<std::conditional_t<std::is_same_v<Field, std::uint8_t>, std::uint8_t, std::uint64_t>>(
          detail::to_number(*value, place_of(key), least, most));
    }
  }

  double to_probability(const Value& value) const {
    const auto* const fraction = value.as<double>();
    const auto* const whole = value.as<std::int64_t>();
    const double probability = fraction != nullptr ? *fraction : whole != nullptr ? static_cast<double>(*whole) : -1;
    const bool is_probability = probability >= 0 && probability <= 1;  // false also for NaN
    if (!is_probability) {
      detail::refuse_value(place_of("probability"), value, "a number in 0..1");
    }
    return probability;
  }

  Status to_status(const Value& value) const {
    std::vector<std::string> names;
    for (std::uint32_t number = 0; number < status_count; ++number) {
      names.push_back(word_of(static_cast<Status>(number)));
    }
    return static_cast<Status>(detail::to_choice(value, place_of("status"), Words(names.begin(), names.end())));
  }

  void read_time(std::string_view key, std::chrono::nanoseconds& field) const {
    if (const Value* const value = find(key)) {
      const auto* const text = value->as<std::string>();
      field = std::chrono::nanoseconds(text != nullptr ? to_time(key, *text) : to_time(key, *value));
    }
  }

  std::int64_t to_time(std::string_view key, const std::string& text) const {
    const auto quantity = detail::to_quantity(text);
    if (!quantity.has_value() || quantity->number.starts_with('-')) {
      refuse(key, " is ", in_quotes(text), "; write a number and a unit, such as \"2 ms\"");
    }
    if (quantity->unit.empty()) {
      refuse(key, " is ", in_quotes(text), ", without a unit; write \"", quantity->number,
             " ms\", or a number of seconds");
    }
    const auto* const unit = std::ranges::find(time_units, quantity->unit, &Unit::name);
    if (unit == time_units.end()) {
      Words names;
      std::ranges::transform(time_units, std::back_inserter(names), &Unit::name);
      refuse_word(concat(place_of(key), ": unit"), quantity->unit, names);
    }
    return bounded(std::nearbyint(quantity->in(*unit)));
  }

  std::int64_t to_time(std::string_view key, const Value& value) const {
    const auto* const fraction = value.as<double>();
    const auto* const whole = value.as<std::int64_t>();
    const double seconds = fraction != nullptr ? *fraction : whole != nullptr ? static_cast<double>(*whole) : -1;
    if (!(seconds >= 0) || std::isinf(seconds)) {
      detail::refuse_value(place_of(key), value, "seconds, or text such as \"2 ms\"");
    }
    if (seconds * 1e9 > static_cast<double>(longest)) {
      refuse(key, " is ", text_of(value), " s, which is too long; at most ", longest / 1'000'000'000);
    }
    return bounded(std::nearbyint(seconds * 1e9));
  }

  static std::int64_t bounded(double nanoseconds) noexcept {
    return nanoseconds < static_cast<double>(longest) ? static_cast<std::int64_t>(nanoseconds) : longest;
  }

  const Table& keys_;
  std::string where_;
  FaultRule rule_;
};

}  // namespace

FaultRule read_fault_rule(const Table& keys) { return RuleReader(keys).read(); }

}  // namespace pydoca

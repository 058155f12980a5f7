#include "argp/parser.hpp"

#include "pydoca/status.hpp"
#include "pydoca/version.hpp"

#include "argp/answer.hpp"
#include "argp/general.hpp"
#include "argp/json.hpp"
#include "argp/rules.hpp"
#include "argp/usage.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <doca_version.h>
#include <errno.h>
#include <utility>

namespace pydoca::capi::argp {
namespace {

template <class Object>
void destroy_in(std::vector<Object*>& objects, Object& object) {
  const auto found = std::find(objects.begin(), objects.end(), &object);
  if (object.is_registered || found == objects.end()) {
    throw Error(Status::bad_state, "it was registered, and doca_argp_destroy() destroys it");
  }
  objects.erase(found);
  Slab<Object>::end(object);
}

/// A va_list is made by a call only.
// NOLINTNEXTLINE(modernize-avoid-variadic-functions)
void call_logger(doca_argp_logger_cb_t callback, log::Level level, const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  static_cast<void>(callback(static_cast<std::uint32_t>(level), format, arguments));
  va_end(arguments);
}

std::string version_line(std::string_view name) {
  std::string line(name);
  return line.append(": DOCA ").append(doca_version_runtime()).append(", pydoca ").append(version_runtime());
}

log::Level log_level_of(const Given& given) {
  try {
    const int number = std::get<int>(given.value);
    return log::level_of(number < 0 ? 0U : static_cast<std::uint32_t>(number));
  } catch (const Error& error) {
    throw Error(Status::invalid_value, given.place + ": " + error.what());
  }
}

const Given* find(const std::vector<Given>& given, General which) {
  const auto found =
      std::find_if(given.begin(), given.end(), [&](const Given& one) { return one.flag == &general(which); });
  return found == given.end() ? nullptr : &*found;
}

std::vector<Given> given_by(const std::string& path, const Chain& chain, const JsonMember& member) {
  const std::string place = path + ": " + member.name;
  const Flag* const flag = find_in_file(chain, member.name, member.is_general);
  if (flag == nullptr) {
    throw Error(Status::not_supported, place + ": there is no such flag");
  }
  const bool is_for_files = member.is_general ? flag->type == DOCA_ARGP_TYPE_INT : !flag->is_cli_only;
  if (!is_for_files) {
    throw Error(Status::not_supported, place + ": it is taken from the command line only");
  }
  if (member.is_array && !flag->is_multiple) {
    throw Error(Status::invalid_value, place + ": it takes one value, not an array");
  }
  std::vector<Given> given;
  for (const JsonValue& value : member.values) {
    given.push_back({flag, place, value_of(*flag, place, value)});
  }
  return given;
}

}  // namespace

Parser::Parser(const char* name, void* config)
    : name_(name != nullptr ? name : program_invocation_short_name),
      is_named_(name != nullptr),
      config_(config),
      chain_{&program_} {}

Parser::~Parser() {
  for (doca_argp_param* const param : params_) {
    Slab<doca_argp_param>::end(*param);
  }
  for (doca_argp_cmd* const cmd : cmds_) {
    Slab<doca_argp_cmd>::end(*cmd);
  }
}

std::shared_ptr<Parser>& Parser::current() {
  static auto* const parser = new std::shared_ptr<Parser>;
  return *parser;
}

doca_argp_param* Parser::create_param() {
  params_.reserve(params_.size() + 1);
  return params_.emplace_back(Slab<doca_argp_param>::make());
}

doca_argp_cmd* Parser::create_cmd() {
  cmds_.reserve(cmds_.size() + 1);
  return cmds_.emplace_back(Slab<doca_argp_cmd>::make());
}

void Parser::destroy(doca_argp_param& param) { destroy_in(params_, param); }
void Parser::destroy(doca_argp_cmd& cmd) { destroy_in(cmds_, cmd); }

int Parser::log_level() const noexcept { return log_level_.value_or(static_cast<int>(log::global_lower_limit())); }
int Parser::sdk_log_level() const noexcept {
  return sdk_log_level_.value_or(static_cast<int>(log::global_sdk_limit()));
}

std::string Parser::usage() const { return argp::usage(name_, chain_, dpdk_callback != nullptr); }

void Parser::tell(log::Level level, const std::string& text) const {
  if (logger_callback != nullptr) {
    call_logger(logger_callback, level, "%s", text.c_str());
  } else if (log::enabled(log::Family::engine, level)) {
    log::engine(level, "argp", text);
  } else {
    static_cast<void>(std::fprintf(stderr, "%s: %s\n", name_.c_str(), text.c_str()));
  }
}

void Parser::start(int argc, char** argv) {
  has_started_ = true;
  const std::vector<std::string_view> words = take_words(argc, argv);
  CommandLine line = parse(program_, words);
  chain_ = line.chain;
  if (line.asked) {
    answer(*line.asked);
  }
  require_once(line.given);
  std::vector<Given> given = read_file(line.given);
  given.insert(given.end(), line.given.begin(), line.given.end());
  require_complete(chain_, given);
  set_levels(given);
  call_back(given);
  call_dpdk();
}

/// The words that are not DPDK's.
std::vector<std::string_view> Parser::take_words(int argc, char** argv) {
  std::vector<std::string_view> words(argv + 1, argv + argc);
  if (!is_named_) {
    const std::string_view path = argv[0];
    name_ = path.substr(path.find_last_of('/') + 1);
  }
  if (dpdk_callback != nullptr) {
    const auto end = std::find(words.begin(), words.end(), "--");
    dpdk_words_.emplace_back(argv[0]);
    if (end != words.end()) {
      dpdk_words_.insert(dpdk_words_.end(), words.begin(), end);
      words.erase(words.begin(), end + 1);
    }
  }
  return words;
}

void Parser::answer(General asked) const {
  if (asked == General::version && version_callback != nullptr) {
    bool is_given = true;
    require_success(version_callback(&is_given, config_), "-v, --version");
  } else {
    const std::string text = asked == General::help ? usage() : version_line(name_) + "\n";
    static_cast<void>(std::fputs(text.c_str(), stdout));
  }
  std::exit(0);
}

/// What the file gives and the command line does not.
std::vector<Given> Parser::read_file(const std::vector<Given>& line) const {
  const Given* const file = find(line, General::json);
  if (file == nullptr) {
    return {};
  }
  const auto& path = std::get<std::string>(file->value);
  std::vector<Given> given;
  for (const JsonMember& member : read_json(path)) {
    const std::vector<Given> values = given_by(path, chain_, member);
    const bool is_overridden = std::any_of(
        line.begin(), line.end(), [&](const Given& one) { return !values.empty() && one.flag == values.front().flag; });
    if (!is_overridden) {
      given.insert(given.end(), values.begin(), values.end());
    }
  }
  return given;
}

void Parser::set_levels(const std::vector<Given>& given) {
  const Given* const log_level = find(given, General::log_level);
  const Given* const sdk_log_level = find(given, General::sdk_log_level);
  if (log_level != nullptr) {
    log::set_global_lower_limit(log_level_of(*log_level));
    log_level_ = std::get<int>(log_level->value);
  }
  if (sdk_log_level != nullptr) {
    log::set_global_sdk_limit(log_level_of(*sdk_log_level));
    sdk_log_level_ = std::get<int>(sdk_log_level->value);
  }
}

/// A callback may have destroyed the parser.
void Parser::require_open() const {
  if (current().get() != this) {
    throw Error(Status::bad_state, "a callback has destroyed the parser");
  }
}

void Parser::call_back(const std::vector<Given>& given) const {
  for (const Given& one : given) {
    if (!is_general(*one.flag)) {
      call(one, config_);
      require_open();
    }
  }
  for (const Level* const level : chain_) {
    if (level->callback != nullptr) {
      require_success(level->callback(config_), level->name);
      require_open();
    }
  }
  if (validation_callback != nullptr) {
    require_success(validation_callback(config_), "the flags together");
    require_open();
  }
}

void Parser::call_dpdk() {
  if (dpdk_callback == nullptr) {
    return;
  }
  for (std::string& word : dpdk_words_) {
    dpdk_argv_.push_back(word.data());
  }
  dpdk_argv_.push_back(nullptr);
  require_success(dpdk_callback(static_cast<int>(dpdk_words_.size()), dpdk_argv_.data()), "DPDK's flags");
}

}  // namespace pydoca::capi::argp

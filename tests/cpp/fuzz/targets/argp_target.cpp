#include "detail/fd.hpp"
#include "fuzz/target.hpp"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstring>
#include <doca_argp.h>
#include <doca_log.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace pydoca::fuzz {

namespace {

/// Each line is a word of the command line; what follows an empty line is the JSON file.
constexpr std::array<std::string_view, 6> texts{
    "-d\n03:00.0\n--size=7\n-f\n--object\n{\"a\": [1, {}]}",
    "-s\n-5\n-d\n-x\n--device=a\n--device=b",
    "-s\n0x7f\ncopy\n--text\nhello\n-f\nnow",
    "-l\n60\n--sdk-log-level=40\n-q",
    "-s\n8\n\n{\"doca_general_flags\": {\"log-level\": 60}, \"doca_program_flags\": {\"device\": [\"p0\", \"p1\"], "
    "\"size\": 7, \"fast\": false, \"object\": {\"b\": null}}}",
    "copy\n\n// comment\n{\"doca_program_flags\": {\"text\": \"\\u00e9\", \"size\": -1, /* */ \"fast\": true}}"};

struct Seen {
  int calls = 0;
  int messages = 0;
};

doca_error_t take_text(void* value, void* seen) {
  static_cast<Seen*>(seen)->calls += std::strlen(static_cast<const char*>(value)) < 1'000'000 ? 1 : 0;
  return DOCA_SUCCESS;
}
doca_error_t take_number(void* value, void* seen) {
  static_cast<Seen*>(seen)->calls += *static_cast<int*>(value) >= -2147483647 - 1 ? 1 : 0;
  return DOCA_SUCCESS;
}
doca_error_t take_boolean(void* value, void* seen) {
  static_cast<Seen*>(seen)->calls += *static_cast<bool*>(value) ? 1 : 2;
  return DOCA_SUCCESS;
}
doca_error_t take_command(void* seen) {
  ++static_cast<Seen*>(seen)->calls;
  return DOCA_SUCCESS;
}

Seen* parsing = nullptr;
doca_error_t note_message(std::uint32_t /*level*/, const char* /*format*/, std::va_list /*arguments*/) {
  ++parsing->messages;
  return DOCA_SUCCESS;
}

doca_argp_param* make_flag(const char* short_name, const char* long_name, doca_argp_type type,
                           doca_argp_param_cb_t callback) {
  doca_argp_param* flag = nullptr;
  require(doca_argp_param_create(&flag) == DOCA_SUCCESS, "a flag is created");
  doca_argp_param_set_short_name(flag, short_name);
  doca_argp_param_set_long_name(flag, long_name);
  doca_argp_param_set_description(flag, "what it is for");
  doca_argp_param_set_type(flag, type);
  doca_argp_param_set_callback(flag, callback);
  return flag;
}

void add_flags() {
  doca_argp_param* const device = make_flag("d", "device", DOCA_ARGP_TYPE_STRING, take_text);
  doca_argp_param_set_multiplicity(device);
  doca_argp_param* const size = make_flag("s", "size", DOCA_ARGP_TYPE_INT, take_number);
  doca_argp_param_set_inherited(size);
  doca_argp_param* const quick = make_flag("q", "quick", DOCA_ARGP_TYPE_BOOLEAN, take_boolean);
  doca_argp_param_set_singular(quick);
  for (doca_argp_param* const flag : {device, size, quick, make_flag("f", "fast", DOCA_ARGP_TYPE_BOOLEAN, take_boolean),
                                      make_flag("o", "object", DOCA_ARGP_TYPE_JSON_OBJ, take_text)}) {
    require(doca_argp_register_param(flag) == DOCA_SUCCESS, "a flag is registered");
  }
}

doca_argp_cmd* make_command(const char* name) {
  doca_argp_cmd* command = nullptr;
  require(doca_argp_cmd_create(&command) == DOCA_SUCCESS, "a command is created");
  doca_argp_cmd_set_name(command, name);
  doca_argp_cmd_set_description(command, "what it does");
  doca_argp_cmd_set_callback(command, take_command);
  return command;
}

void add_commands() {
  doca_argp_cmd* const copy = make_command("copy");
  const bool is_made =
      doca_argp_cmd_register_param(copy, make_flag("t", "text", DOCA_ARGP_TYPE_STRING, take_text)) == DOCA_SUCCESS &&
      doca_argp_cmd_register_cmd(copy, make_command("now")) == DOCA_SUCCESS;
  require(is_made && doca_argp_register_cmd(copy) == DOCA_SUCCESS, "a command is registered");
}

/// Help and version end the process.
bool ends_process(std::string_view word) {
  constexpr std::array<std::string_view, 4> names{"-h", "--help", "-v", "--version"};
  return std::ranges::find(names, word) != names.end();
}

std::vector<std::string> words_of(std::string_view text) {
  constexpr std::size_t most = 64;
  std::vector<std::string> words{"tool"};
  while (!text.empty() && words.size() < most) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const std::string_view word = text.substr(0, end); !ends_process(word)) {
      words.emplace_back(word.substr(0, word.find('\0')));
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

/// The file, and its path in path.
detail::Fd file_of(std::string_view text, std::string& path) {
  detail::Fd file(::memfd_create("flags", MFD_CLOEXEC));
  require(file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()), "a file is made");
  path = "/proc/self/fd/" + std::to_string(file.get());
  return file;
}

doca_error_t start(std::vector<std::string>& words) {
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  return doca_argp_start(static_cast<int>(words.size()), argv.data());
}

/// A mistake anywhere is told once, before the program has acted on a part.
void check_outcome(doca_error_t status, const Seen& seen) {
  constexpr std::array failures{DOCA_ERROR_INVALID_VALUE, DOCA_ERROR_NOT_SUPPORTED, DOCA_ERROR_IO_FAILED,
                                DOCA_ERROR_INITIALIZATION};
  const bool has_failed = status != DOCA_SUCCESS;
  require(!has_failed || std::ranges::find(failures, status) != failures.end(), "a command line has a known mistake");
  require(!has_failed || seen.calls == 0, "nothing is called unless all is right");
  require(seen.messages == (has_failed ? 1 : 0), "a mistake is told once");
}

void run_argp(std::span<const std::byte> input) {
  const std::string_view text(reinterpret_cast<const char*>(input.data()), input.size());
  const std::size_t end = text.starts_with('\n') ? 0 : text.find("\n\n");
  std::vector<std::string> words = words_of(text.substr(0, end));
  detail::Fd file;
  if (end != text.npos) {
    words.emplace_back("-j");
    file = file_of(text.substr(std::min(text.size(), text.find_first_not_of('\n', end))), words.emplace_back());
  }
  Seen seen;
  parsing = &seen;
  require(doca_argp_init("tool", &seen) == DOCA_SUCCESS, "a parser is opened");
  require(doca_argp_register_logger_callback(note_message) == DOCA_SUCCESS, "a logger is registered");
  add_flags();
  add_commands();
  check_outcome(start(words), seen);
  require(doca_argp_destroy() == DOCA_SUCCESS, "a parser is closed");
  doca_log_level_set_global_lower_limit(DOCA_LOG_LEVEL_INFO);
  doca_log_level_set_global_sdk_limit(DOCA_LOG_LEVEL_INFO);
}

std::vector<Bytes> argp_seeds() {
  std::vector<Bytes> seeds;
  for (const std::string_view text : texts) {
    const auto bytes = std::as_bytes(std::span(text));
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}

}  // namespace

std::span<const Target> capi_targets() {
  static const std::array all{Target{"argp", &run_argp, &argp_seeds}};
  return all;
}

}  // namespace pydoca::fuzz

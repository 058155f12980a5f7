#include "argp/json.hpp"

#include "pydoca/status.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace pydoca::capi::argp {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t max_size = std::size_t{1} << 20;  // bytes
// The library writes the text of an object by a recursion.
constexpr int max_depth = 64;

/// Throws for what the library accepts: a name twice in an object, and depths that end in a crash.
class Limits {
 public:
  bool operator()(int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > max_depth) {
      throw Error(Status::io_failed, "its objects and arrays are nested too deeply");
    }
    if (event == Json::parse_event_t::object_start) {
      names_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      names_.pop_back();
    } else if (event == Json::parse_event_t::key && !names_.back().insert(parsed.get<std::string>()).second) {
      throw Error(Status::invalid_value, parsed.get<std::string>() + ": it is given twice");
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> names_;
};

Json parse(std::string_view text) {
  try {
    return Json::parse(text.begin(), text.end(), Limits(), true, true);
  } catch (const Json::exception& error) {
    const std::string_view what = error.what();  // "[json.exception.parse_error.101] parse error at line 1 ..."
    const std::size_t bracket = what.find("] ");
    throw Error(Status::io_failed,
                "it is not JSON: " + std::string(bracket == what.npos ? what : what.substr(bracket + 2)));
  }
}

[[noreturn]] void refuse_file(int error) { throw Error(Status::io_failed, std::strerror(error)); }

std::string text_of(const std::string& path) {
  struct Close {
    void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) {
    refuse_file(errno);
  }
  std::string text(max_size + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) {
    refuse_file(errno);
  }
  if (text.size() > max_size) {
    throw Error(Status::io_failed, "it has more than " + std::to_string(max_size) + " bytes");
  }
  return text;
}

/// The library has whole numbers of more than 64 bits as fractions, too.
JsonValue fraction_of(double number) {
  constexpr double beyond = 9223372036854775808.0;
  if (number >= beyond || number <= -beyond) {
    return JsonLarge{"a number of more than 64 bits"};
  }
  return JsonOther{"a fraction"};
}

JsonValue value_of(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return json.get<bool>();
    case Json::value_t::string:
      return json.get<std::string>();
    case Json::value_t::object:
      return JsonObject{json.dump()};
    case Json::value_t::number_integer:
      return json.get<std::int64_t>();
    case Json::value_t::number_unsigned:
      if (json.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return json.get<std::int64_t>();
      }
      return JsonLarge{std::to_string(json.get<std::uint64_t>())};
    case Json::value_t::number_float:
      return fraction_of(json.get<double>());
    case Json::value_t::null:
      return JsonOther{"null"};
    default:
      return JsonOther{"an array"};
  }
}

JsonMember member_of(bool is_general, const std::string& name, const Json& json) {
  JsonMember member{.is_general = is_general, .name = name, .is_array = json.is_array(), .values = {}};
  if (!member.is_array) {
    member.values.push_back(value_of(json));
    return member;
  }
  for (const Json& element : json) {
    member.values.push_back(value_of(element));
  }
  return member;
}

void append_section(std::vector<JsonMember>& members, const std::string& name, const Json& section) {
  const bool is_general = name == "doca_general_flags";
  if (name == "doca_dpdk_flags") {
    throw Error(Status::io_failed, name + ": it is not read; DPDK's flags stand before -- on the command line");
  }
  if (!is_general && name != "doca_program_flags") {
    throw Error(Status::io_failed, name + ": there are the sections doca_general_flags and doca_program_flags only");
  }
  if (!section.is_object()) {
    throw Error(Status::io_failed, name + ": it is not an object of flags");
  }
  for (const auto& [flag, value] : section.items()) {
    members.push_back(member_of(is_general, flag, value));
  }
}

std::vector<JsonMember> members_of(const std::string& path) {
  const Json json = parse(text_of(path));
  if (!json.is_object()) {
    throw Error(Status::io_failed, R"(it is not an object such as {"doca_program_flags": {...}})");
  }
  std::vector<JsonMember> members;
  for (const auto& [name, section] : json.items()) {
    append_section(members, name, section);
  }
  return members;
}

}  // namespace

std::vector<JsonMember> read_json(const std::string& path) {
  try {
    return members_of(path);
  } catch (const Error& error) {
    throw Error(error.status(), path + ": " + error.what());
  }
}

void require_json_object(std::string_view text) {
  try {
    if (parse(text).is_object()) {
      return;
    }
  } catch (const Error& error) {
    throw Error(Status::invalid_value, error.what());
  }
  throw Error(Status::invalid_value, "it is not a JSON object");
}

}  // namespace pydoca::capi::argp

#include "call/signature.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace pydoca::bindings {

namespace {

/// A docstring in its parts.
struct Docstring {
  std::vector<std::string_view> parameters;  ///< each with its type and default; without self
  std::string_view doc;
};

/// The length of the text up to the first comma or closing bracket outside brackets and quotes.
std::size_t length_of_parameter(std::string_view text) {
  std::size_t depth = 0;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char one = text[i];
    if (quote != '\0') {
      if (one == '\\') ++i;
      if (one == quote) quote = '\0';
    } else if (depth == 0 && (one == ',' || one == ')')) {
      return i;
    } else if (one == '\'' || one == '"') {
      quote = one;
    } else if (std::string_view("([{<").find(one) != std::string_view::npos) {
      ++depth;
    } else if (std::string_view(")]}>").find(one) != std::string_view::npos && depth != 0) {
      --depth;
    }
  }
  return text.size();
}

Docstring parts_of(std::string_view docstring) {
  Docstring parts;
  std::string_view rest = docstring.substr(std::min(docstring.size(), docstring.find('(') + 1));
  for (std::string_view ended = ","; ended == ",";) {
    const std::size_t length = length_of_parameter(rest);
    const std::string_view parameter = rest.substr(0, length);
    if (!parameter.empty() && !parameter.starts_with("self: ")) parts.parameters.push_back(parameter);
    ended = rest.substr(length, 1);
    rest.remove_prefix(std::min(rest.size(), length + (ended == "," ? 2 : 1)));
  }
  const std::size_t end = rest.find("\n\n");
  if (end != std::string_view::npos) parts.doc = rest.substr(end + 2);
  if (parts.doc.ends_with('\n')) parts.doc.remove_suffix(1);
  return parts;
}

/// pybind11 numbers the parameters that have no name.
bool is_unnamed(std::string_view parameter) {
  return parameter.starts_with("arg") && parameter.size() > 3 && parameter[3] >= '0' && parameter[3] <= '9';
}

/// inspect can read a signature only when every default is a literal; any other default becomes "...".
Parameter parameter_of(std::string_view text) {
  constexpr std::string_view sign = " = ";
  const std::size_t place = text.find(sign);
  std::string_view value = place == std::string_view::npos ? "" : text.substr(place + sign.size());
  if (value.starts_with('<')) value = "...";
  return {std::string(text.substr(0, text.find(": "))), std::string(value)};
}

Signature written_signature(const Docstring& parts) {
  Signature signature;
  signature.doc = parts.doc;
  signature.is_complete = std::ranges::none_of(
      parts.parameters, [](std::string_view one) { return one.starts_with('*') ? one != "*" : is_unnamed(one); });
  bool by_keyword = false;
  for (const std::string_view one : parts.parameters) {
    if (one.starts_with('*')) {
      by_keyword = true;
    } else if (one != "/" && !is_unnamed(one)) {
      signature.parameters.push_back(parameter_of(one));
      signature.num_positional += by_keyword ? 0 : 1;
    }
  }
  return signature;
}

/// Parses the signature at the beginning of a doc, such as (a, b=1, *, c=None).
Signature declared_signature(std::string_view doc) {
  constexpr std::string_view end = ")\n--\n\n";
  Signature signature;
  const std::size_t length = doc.find(end);
  signature.doc = doc.substr(length + end.size());
  std::string_view rest = doc.substr(1, length - 1);
  bool by_keyword = false;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find(", "));
    rest.remove_prefix(std::min(rest.size(), part.size() + 2));
    const std::size_t equal = part.find('=');
    if (part == "*") {
      by_keyword = true;
    } else {
      signature.parameters.push_back(
          {std::string(part.substr(0, equal)), equal < part.size() ? std::string(part.substr(equal + 1)) : ""});
      signature.num_positional += by_keyword ? 0 : 1;
    }
  }
  return signature;
}

std::string text_of(const Signature& signature, const Docstring& parts, bool is_method) {
  const auto takes = [&](std::string_view start) {
    return std::ranges::any_of(parts.parameters, [&](std::string_view one) {
      return one.starts_with(start) && one.size() > start.size() && one[start.size()] != '*';
    });
  };
  std::string text = is_method ? "(self, /" : "(";
  const auto add = [&](const std::string& part) { text.append(text.size() == 1 ? "" : ", ").append(part); };
  if (!signature.is_complete && !takes("*") && !takes("**")) add("*args");
  for (std::size_t i = 0; i < signature.parameters.size(); ++i) {
    if (i == signature.num_positional) add("*");
    const auto& [name, value] = signature.parameters[i];
    add(value.empty() ? name : std::string(name).append("=").append(value));
  }
  if (takes("*")) add("*args");
  if (takes("**") && !signature.is_complete) add("**kwargs");
  return text + ")";
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

}  // namespace

bool has_signature(std::string_view docstring, std::string_view name) noexcept {
  return docstring.starts_with(name) && docstring.substr(name.size()).starts_with('(');
}

Signature signature_of(std::string_view docstring, bool is_method) {
  const Docstring parts = parts_of(docstring);
  Signature signature = parts.doc.starts_with('(') ? declared_signature(parts.doc) : written_signature(parts);
  signature.text = text_of(signature, parts, is_method);
  return signature;
}

std::string parameters_of(std::string_view docstring) {
  std::string text;
  for (const std::string_view one : parts_of(docstring).parameters) text.append(text.empty() ? "" : ", ").append(one);
  // Names that readers know.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> names{{
      {"typing.SupportsInt | typing.SupportsIndex", "int"},
      {"typing.SupportsFloat | typing.SupportsIndex", "float"},
      {"typing_extensions.Buffer", "bytes-like"},
      {"pydoca._core.", "pydoca."},
  }};
  for (const auto& [from, to] : names) replace_all(text, from, to);
  return "(" + text + ")";
}

}  // namespace pydoca::bindings

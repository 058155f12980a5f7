#include "pydoca/types.hpp"

#include "pydoca/status.hpp"

#include "detail/concat.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace pydoca {

namespace {

bool is_hex(std::string_view text) noexcept {
  return std::ranges::all_of(text, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

/// "BB:DD.F", with a device below 32 and a function below 8.
bool is_short_pci_addr(std::string_view text) noexcept {
  return text.size() == 7 && text[2] == ':' && text[5] == '.' && is_hex(text.substr(0, 2)) &&
         (text[3] == '0' || text[3] == '1') && is_hex(text.substr(4, 1)) && text[6] >= '0' && text[6] <= '7';
}

}  // namespace

std::optional<std::string> parse_pci_addr(std::string_view text) {
  const bool is_long = text.size() == 12 && text[4] == ':' && is_hex(text.substr(0, 4));
  if (!is_short_pci_addr(is_long ? text.substr(5) : text)) {
    return std::nullopt;
  }
  std::string address = is_long ? std::string(text) : "0000:" + std::string(text);
  std::ranges::transform(address, address.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return address;
}

std::string canonical_pci_addr(std::string_view address) {
  if (auto canonical = parse_pci_addr(address)) {
    return *std::move(canonical);
  }
  throw Error(Status::invalid_value,
              detail::concat("\"", address, "\" is not a PCI address; write it as 0000:03:00.0 or 03:00.0"));
}

}  // namespace pydoca

#include "pydoca/sim.hpp"

#include "backend/sim/fabric/directory.hpp"
#include "detail/concat.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <mutex>
#include <optional>

namespace pydoca::sim {

namespace {

/// Never destroyed: threads may ask while the process exits.
struct Chosen {
  std::mutex mutex;
  std::optional<std::string> name;

  static Chosen& instance() {
    static auto* const chosen = new Chosen;
    return *chosen;
  }
};

bool is_allowed(unsigned char c) noexcept { return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-'; }

std::string checked(std::string_view name) {
  // The name becomes a directory's.
  const bool special = name == "." || name == "..";
  if (name.empty() || name.size() > 64 || special || !std::ranges::all_of(name, is_allowed)) {
    throw Error(
        Status::invalid_value,
        detail::concat("a fabric's name takes 1 to 64 characters of A-Z a-z 0-9 . _ - and is not \"", name, "\""));
  }
  return std::string(name);
}

}  // namespace

void set_fabric(std::string_view name) {
  std::string valid = checked(name);
  Chosen& chosen = Chosen::instance();
  const std::lock_guard lock(chosen.mutex);
  chosen.name = std::move(valid);
}

std::string fabric() {
  Chosen& chosen = Chosen::instance();
  const std::lock_guard lock(chosen.mutex);
  if (chosen.name.has_value()) {
    return *chosen.name;
  }
  const char* const text = std::getenv("PYDOCA_FABRIC");
  return text == nullptr || *text == '\0' ? "default" : checked(text);
}

std::string fabric_directory() { return FabricDirectory(fabric()).path(); }

}  // namespace pydoca::sim

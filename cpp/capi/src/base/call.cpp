#include "base/call.hpp"

#include "pydoca/log.hpp"

#include <new>
#include <string>

namespace pydoca::capi {
namespace {

/// The name without the types that compilers write around it.
std::string_view plain_name(const std::source_location& where) {
  std::string_view name = where.function_name();
  name = name.substr(0, name.find('('));
  return name.substr(name.find_last_of(" *&") + 1);
}

void log_line(log::Level level, const std::source_location& where, std::string_view text) noexcept {
  log::engine(level, "c", [&] {
    std::string line(plain_name(where));
    return line.append(": ").append(text);
  });
}

}  // namespace

doca_error_t Call::refuse(std::source_location where, Status status, std::string_view text) noexcept {
  log_line(log::Level::error, where, text);
  return as_c(status);
}

void Call::log_null(std::source_location where, int place) noexcept {
  log::engine(log::Level::error, "c", [&] {
    return std::string(plain_name(where)).append(": pointer ").append(std::to_string(place)).append(" is NULL");
  });
}

void Call::log_dead(std::source_location where, int place, std::string_view noun) noexcept {
  log::engine(log::Level::error, "c", [&] {
    std::string line(plain_name(where));
    line.append(": pointer ").append(std::to_string(place)).append(" is not a living ").append(noun);
    return line.append("; it was destroyed, or is of another kind");
  });
}

doca_error_t Call::failed(std::source_location where, const std::exception& error, bool is_question) noexcept {
  const auto* const ours = dynamic_cast<const Error*>(&error);
  const bool is_absent =
      ours != nullptr && (ours->status() == Status::not_found || ours->status() == Status::not_supported);
  log_line(is_question && is_absent ? log::Level::debug : log::Level::error, where, error.what());
  if (ours != nullptr) {
    return as_c(ours->status());
  }
  return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? DOCA_ERROR_NO_MEMORY : DOCA_ERROR_UNKNOWN;
}

}  // namespace pydoca::capi

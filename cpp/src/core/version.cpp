#include "pydoca/version.hpp"

namespace pydoca {

std::string_view version_runtime() noexcept {
  // A constant: a call of the inline function could reach the one of a program that was compiled with another header.
  constexpr std::string_view compiled = version();
  return compiled;
}

}  // namespace pydoca

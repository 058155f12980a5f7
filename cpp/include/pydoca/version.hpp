#pragma once

#include <string_view>

#pragma GCC visibility push(default)

namespace pydoca {

/// The version with which a program was compiled (doca_version). This line states it: CMake and the wheel read it here.
[[nodiscard]] constexpr std::string_view version() noexcept { return "0.2.0.dev0"; }

/// The version of the library with which it runs (doca_version_runtime).
[[nodiscard]] std::string_view version_runtime() noexcept;

}  // namespace pydoca

#pragma GCC visibility pop

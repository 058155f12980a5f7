#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#pragma GCC visibility push(default)

namespace pydoca {

/// enum doca_sha_algorithm.
enum class ShaAlgorithm : std::uint8_t { sha1 = 0, sha256 = 1, sha512 = 2 };

inline constexpr std::size_t num_sha_algorithms = 3;
/// The table is indexed by ShaAlgorithm.
inline constexpr std::array<std::string_view, num_sha_algorithms> sha_algorithm_names{"sha1", "sha256", "sha512"};

/// Bytes of a digest; 0 for a number outside the enumeration.
constexpr std::uint32_t digest_size(ShaAlgorithm algorithm) noexcept {
  constexpr std::array<std::uint32_t, num_sha_algorithms> sizes{20, 32, 64};
  const auto place = static_cast<std::size_t>(algorithm);
  return place < num_sha_algorithms ? sizes[place] : 0;
}

/// Bytes of a block; a digest is computed block by block (FIPS 180-4, section 1). 0 for a number outside the
/// enumeration.
constexpr std::uint32_t block_size(ShaAlgorithm algorithm) noexcept {
  constexpr std::array<std::uint32_t, num_sha_algorithms> sizes{64, 64, 128};
  const auto place = static_cast<std::size_t>(algorithm);
  return place < num_sha_algorithms ? sizes[place] : 0;
}

}  // namespace pydoca

#pragma GCC visibility pop

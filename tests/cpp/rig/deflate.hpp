#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// DEFLATE data (RFC 1951) whose plain data is known.
namespace pydoca {

using ByteVector = std::vector<std::byte>;

/// plain as DEFLATE data without compression: RFC 1951's stored blocks, of at most 65,535 bytes each.
inline ByteVector stored(std::span<const std::byte> plain) {
  ByteVector stream;
  do {
    const std::size_t size = std::min<std::size_t>(plain.size(), 0xFFFF);
    const bool is_last = size == plain.size();
    for (const std::size_t octet :
         {std::size_t{is_last}, size & 255U, size >> 8U, ~size & 255U, (~size >> 8U) & 255U}) {
      stream.push_back(static_cast<std::byte>(octet));
    }
    stream.insert(stream.end(), plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(size));
    plain = plain.subspan(size);
  } while (!plain.empty());
  return stream;
}

inline ByteVector from_hex(std::string_view digits) {
  ByteVector bytes;
  const auto value = [](char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; };
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(value(digits[i]) * 16 + value(digits[i + 1])));
  }
  return bytes;
}

/// DEFLATE data in hexadecimal digits, the text to which it expands, times times, and the text's checksums.
struct DeflateVector {
  const char* name;
  std::string_view deflate;
  std::string_view text;
  std::size_t times;
  std::uint32_t crc;
  std::uint32_t adler;
};

/// One of each type of block: stored, with fixed and with dynamic codes.
inline constexpr DeflateVector deflate_vectors[] = {
    {"Stored", "010300fcff616263", "abc", 1, 0x352441C2, 0x024D0127},
    {"Nothing", "0300", "", 0, 0, 1},
    {"FixedCodes",
     "0b29cfcccbce49d55128813172324b4a7252158a4b128b741432f2cb153c15caf3f352528b14ca33124b142af34b15128b521515420640270"
     "0",
     "Twinkle, twinkle, little star, how I wonder what you are! ", 3, 0xDB61E989, 0x31FB3D69},
    {"DynamicCodes",
     "558e6d0e80200840afc2d5ccc85c43dba4d6f10b44473f80b1f7f8a070c2726db0e29d2342ac85f161e0d08e9ee8130cfe8b"
     "522c2917d40d7b6ddc93093269dc695315ec7501ee98a2f18e3673729864bf4b78f305",
     "map buf device context task task map device device device task engine buf host host device map engin"
     "e engine buf buf host map host device buf map device host context host buf host buf map map buf buf "
     "context host",
     1, 0x7A519EB9, 0x27234D42},
};

}  // namespace pydoca

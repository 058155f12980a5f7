#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace pydoca::sim {

/// Why this machine expands no DEFLATE data, and what to do: ISA-L is not there. Empty: it does. Loads libisal.
const std::string& no_inflater();

/// Expands DEFLATE streams (RFC 1951), one after another, in steps.
class Inflater {
 public:
  enum class State : std::uint8_t { wants_input, wants_output, ended, not_deflate };
  struct Step {
    std::size_t read = 0;     ///< bytes of the input
    std::size_t written = 0;  ///< bytes of the output
    State state = State::wants_input;
  };

  /// Throws no_memory, and not_supported with no_inflater().
  Inflater();
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Another stream begins.
  void begin() noexcept;
  /// Expands input, the next bytes of the stream, into output until one of them is used up or the stream has ended. If
  /// output is empty, it only finds out whether the stream has ended.
  Step step(std::span<const std::byte> input, std::span<std::byte> output) noexcept;
  /// Expands a whole stream, in 0.8 of the time of steps.
  Step expand(std::span<const std::byte> stream, std::span<std::byte> output) noexcept;

  // Checksums of all that this stream has written.
  std::uint32_t crc() const noexcept { return crc_; }      ///< CRC-32 (RFC 1952)
  std::uint32_t adler() const noexcept { return adler_; }  ///< Adler-32 (RFC 1950)

 private:
  Step run(bool at_once, std::span<const std::byte> input, std::span<std::byte> output) noexcept;

  struct Stream;
  const std::unique_ptr<Stream> stream_;
  std::uint32_t crc_ = 0;
  std::uint32_t adler_ = 1;
};

}  // namespace pydoca::sim

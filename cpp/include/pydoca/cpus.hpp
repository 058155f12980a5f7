#pragma once

#include <cstdint>

#pragma GCC visibility push(default)

namespace pydoca {

/// The CPUs that a thread may run on, as far as a wait needs to know them: one, several, or not known. Threads and
/// processes tell one another theirs as a word.
class Cpus {
 public:
  /// Not known.
  constexpr Cpus() noexcept = default;
  static constexpr Cpus only(unsigned number) noexcept { return Cpus(number + 1 < all ? number + 1 : all); }
  static constexpr Cpus several() noexcept { return Cpus(all); }
  /// Accepts any word, also one that no thread has told.
  static constexpr Cpus from_word(std::uint16_t word) noexcept { return Cpus(word); }

  constexpr std::uint16_t word() const noexcept { return static_cast<std::uint16_t>(word_); }
  constexpr bool are_several() const noexcept { return word_ == all; }
  /// Whether a thread on these can run while one on here is busy. False while these are not known.
  constexpr bool may_run_beside(Cpus here) const noexcept {
    return word_ != 0 && (word_ == all || word_ != here.word_ || here.are_several());
  }

  constexpr bool operator==(const Cpus&) const noexcept = default;

 private:
  static constexpr unsigned all = 0xffff;
  explicit constexpr Cpus(unsigned word) noexcept : word_(word) {}

  unsigned word_ = 0;
};

/// The calling thread's: several when the system has no answer. Asks the system in one call of 16, so a change may be
/// noticed late.
Cpus own_cpus() noexcept;
/// The same, and asks the system at each call.
Cpus ask_own_cpus() noexcept;

/// Whether the calling thread may run on one CPU only, as under taskset. Asks the system at each call; false when it
/// has no answer.
bool has_one_cpu() noexcept;

}  // namespace pydoca

#pragma GCC visibility pop

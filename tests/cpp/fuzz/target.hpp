#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

/// Code that reads what users, and other processes, give or share, each as a function of any bytes. A fault ends the
/// process. The tests run the corpus and mutations of it (fuzz_test.cpp); libFuzzer looks for more (preset fuzz,
/// script/soak fuzz).
namespace pydoca::fuzz {

using Bytes = std::vector<std::byte>;

struct Target {
  std::string_view name;  ///< also names its folder in corpus/
  void (*run)(std::span<const std::byte> input);
  /// Valid inputs, from which mutations start.
  std::vector<Bytes> (*seeds)();
  int mutations = 5'000;  ///< how many a test runs: fewer where each makes contexts and sockets
};

std::span<const Target> targets();
/// Those of rdma-core; none in a build without it.
std::span<const Target> verbs_targets();
/// Those of DOCA's C API: files and command lines; none in a build without it.
std::span<const Target> capi_targets();
/// All of these.
std::vector<Target> all_targets();

/// Ends the process with a message unless the property holds.
void require(bool holds, const char* property);

/// Takes an input apart. What is missing at its end counts as zeros.
class Input {
 public:
  explicit Input(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  bool is_empty() const noexcept { return rest_.empty(); }
  template <class T>
  T number() noexcept {
    T value{};
    const auto bytes = take(sizeof value);
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(&value));
    return value;
  }
  /// At most size bytes.
  std::span<const std::byte> take(std::size_t size) noexcept {
    const auto taken = rest_.first(std::min(size, rest_.size()));
    rest_ = rest_.subspan(taken.size());
    return taken;
  }
  std::span<const std::byte> rest() noexcept { return take(rest_.size()); }

 private:
  std::span<const std::byte> rest_;
};

/// An input for a target whose input is a sequence of acts: each has its number, a zero, and what it takes.
template <class Act>
Bytes sequence(std::initializer_list<std::pair<Act, std::initializer_list<int>>> acts) {
  Bytes bytes;
  for (const auto& [act, parameters] : acts) {
    bytes.insert(bytes.end(), {static_cast<std::byte>(act), std::byte{0}});
    for (const int parameter : parameters) {
      bytes.push_back(static_cast<std::byte>(parameter));
    }
  }
  return bytes;
}

template <class T>
Bytes bytes_of(const T& object) {
  const auto bytes = std::as_bytes(std::span(&object, 1));
  return {bytes.begin(), bytes.end()};
}

}  // namespace pydoca::fuzz

#include "fuzz/target.hpp"
#include "rig/stress_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace pydoca::fuzz {
namespace {

using Random = std::minstd_rand;

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// The target's seeds and what its folder of the corpus has.
std::vector<Bytes> corpus_of(const Target& target) {
  std::vector<Bytes> corpus = target.seeds();
  const std::filesystem::path folder = std::filesystem::path(PYDOCA_FUZZ_CORPUS) / target.name;
  if (std::filesystem::exists(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      corpus.push_back(read_file(entry.path()));
    }
  }
  return corpus;
}

/// One change: a bit, a byte, a part that is cut out, doubled or taken from another input.
void mutate(Bytes& bytes, const Bytes& other, Random& random) {
  const auto below = [&](std::size_t limit) {
    return static_cast<std::ptrdiff_t>(random() % std::max<std::size_t>(limit, 1));
  };
  const auto at = bytes.begin() + below(bytes.size());
  const std::size_t left = static_cast<std::size_t>(bytes.end() - at);
  switch (left == 0 ? 4 : below(5)) {
    case 0:
      *at ^= static_cast<std::byte>(1U << below(8));
      break;
    case 1:
      *at = static_cast<std::byte>(random());
      break;
    case 2:
      bytes.erase(at, at + below(left));
      break;
    case 3:
      std::fill(at, at + below(std::min<std::size_t>(left, 9)), random() % 2 == 0 ? std::byte{0xff} : std::byte{0});
      break;
    default: {
      const auto from = other.begin() + below(other.size());
      bytes.insert(at, from, from + below(static_cast<std::size_t>(other.end() - from)));
    }
  }
}

class Fuzz : public testing::TestWithParam<Target> {};

TEST_P(Fuzz, TakesItsCorpus) {
  for (const Bytes& input : corpus_of(GetParam())) {
    GetParam().run(input);
  }
}

TEST_P(Fuzz, TakesMutationsOfItsCorpus) {
  const char* const given = std::getenv("PYDOCA_SEED");
  Random random(given != nullptr ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : 1);
  const std::vector<Bytes> corpus = corpus_of(GetParam());
  const StressTime time;
  for (int round = 0; round < GetParam().mutations && !time.over(); ++round) {
    Bytes input = corpus[random() % corpus.size()];
    for (auto changes = 1 + random() % 6; changes > 0; --changes) {
      mutate(input, corpus[random() % corpus.size()], random);
    }
    GetParam().run(input);
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz, testing::ValuesIn(all_targets()),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace pydoca::fuzz

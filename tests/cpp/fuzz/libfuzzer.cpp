/// libFuzzer's entry points. PYDOCA_FUZZ_TARGET names the target; without it, `fuzz [DIRECTORY]` lists the targets and
/// writes their seeds below the directory.

#include "fuzz/target.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace pydoca::fuzz {

namespace {

const Target* chosen = nullptr;

void choose(std::string_view name) {
  static const std::vector<Target> all = all_targets();
  for (const Target& target : all) {
    chosen = target.name == name ? &target : chosen;
  }
  require(chosen != nullptr, "PYDOCA_FUZZ_TARGET names a target");
}

void write_seeds(const Target& target, const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  int number = 0;
  for (const Bytes& seed : target.seeds()) {
    std::ofstream file(directory / ("seed-" + std::to_string(++number)), std::ios::binary);
    file.write(reinterpret_cast<const char*>(seed.data()), static_cast<std::streamsize>(seed.size()));
  }
}

/// Prints the names, one a line, and writes each target's seeds below the directory, if there is one.
[[noreturn]] void list_targets(const char* directory) {
  for (const Target& target : all_targets()) {
    std::printf("%.*s\n", static_cast<int>(target.name.size()), target.name.data());
    if (directory != nullptr) {
      write_seeds(target, std::filesystem::path(directory) / target.name);
    }
  }
  std::exit(EXIT_SUCCESS);
}

}  // namespace

}  // namespace pydoca::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const char* const name = std::getenv("PYDOCA_FUZZ_TARGET");
  if (name == nullptr) {
    pydoca::fuzz::list_targets(*argc > 1 ? (*argv)[1] : nullptr);
  }
  pydoca::fuzz::choose(name);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pydoca::fuzz::chosen->run({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}

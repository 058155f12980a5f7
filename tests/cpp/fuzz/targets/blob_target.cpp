#include "backend/sim/memory/blob.hpp"
#include "detail/blob_codec.hpp"
#include "fuzz/targets/sim_targets.hpp"

#include <algorithm>

namespace pydoca::fuzz {

namespace {

using sim::Blob;

void check_blob(std::span<const std::byte> bytes) {
  Blob blob;
  if (parse(bytes, blob) == Status::success) {
    require(std::ranges::equal(encode(blob), bytes), "a blob that is taken is the one that its content makes");
  } else {
    require(blob == Blob(), "a blob that is refused leaves the result alone");
  }
}

}  // namespace

void run_blob(std::span<const std::byte> input) {
  check_blob(input);
  static_cast<void>(sim::claims_type(input, sim::BlobType::memory));
  Bytes sound(input.begin(), input.end());
  sound.resize(sim::blob_size);
  const auto sum = bytes_of(detail::checksum(std::span(sound).first(sim::blob_size - sizeof(std::uint64_t))));
  std::ranges::copy(sum, sound.end() - static_cast<std::ptrdiff_t>(sum.size()));
  check_blob(sound);
}

std::vector<Bytes> blob_seeds() {
  std::vector<Bytes> seeds;
  for (const auto type : {sim::BlobType::memory, sim::BlobType::pci_counter, sim::BlobType::queue_pair}) {
    const auto bytes = encode(Blob{.type = type,
                                   .epoch = 3,
                                   .base = 0x7f0000001000,
                                   .length = 4096,
                                   .access = Access::pci_read_write,
                                   .pci_addr = {'0', '0', '0', '0', ':', '0', 'b', ':', '0', '0', '.', '0'}});
    seeds.emplace_back(bytes.begin(), bytes.end());
  }
  return seeds;
}

}  // namespace pydoca::fuzz

#include "backend/verbs/memory/blob.hpp"
#include "detail/blob_codec.hpp"
#include "fuzz/target.hpp"

#include <array>

namespace pydoca::fuzz {

namespace {

template <class Blob>
void check_verbs_blob(std::span<const std::byte> bytes) {
  Blob blob;
  if (verbs::parse(bytes, blob) == Status::success) {
    require(std::ranges::equal(verbs::encode(blob), bytes), "a blob that is taken is the one that its content makes");
  } else {
    require(blob == Blob(), "a blob that is refused leaves the result alone");
  }
}

void check_verbs_blobs(std::span<const std::byte> bytes) {
  check_verbs_blob<verbs::MemoryBlob>(bytes);
  check_verbs_blob<verbs::CounterBlob>(bytes);
  check_verbs_blob<verbs::PairBlob>(bytes);
}

void run_verbs_blob(std::span<const std::byte> input) {
  check_verbs_blobs(input);
  if (input.size() < sizeof(std::uint64_t)) {
    return;
  }
  Bytes sound(input.begin(), input.end());
  const auto sum = bytes_of(detail::checksum(std::span(sound).first(sound.size() - sizeof(std::uint64_t))));
  std::ranges::copy(sum, sound.end() - static_cast<std::ptrdiff_t>(sum.size()));
  check_verbs_blobs(sound);
}

std::vector<Bytes> verbs_blob_seeds() {
  return {
      verbs::encode(verbs::MemoryBlob{.base = 0x7f0000001000, .length = 64, .rkey = 7, .access = Access::rdma_read}),
      verbs::encode(verbs::CounterBlob{.address = 0x7f0000001008, .rkey = 7}),
      verbs::encode(verbs::PairBlob{.number = 17, .first_packet = 9, .mtu = 5, .max_reads = 16})};
}

}  // namespace

std::span<const Target> verbs_targets() {
  static const std::array all{Target{"verbs_blob", &run_verbs_blob, &verbs_blob_seeds}};
  return all;
}

}  // namespace pydoca::fuzz

#pragma once

#include "pydoca/sha.hpp"

#include "rig/library/data_rig.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace pydoca {

class ShaRig : public DataRig<Sha, ShaHashTask> {
 public:
  ShaRig(const std::shared_ptr<Device>& device, const std::shared_ptr<ProgressEngine>& engine, std::uint32_t num_tasks)
      : DataRig(Sha::create(device), engine, &Sha::set_hash_conf, num_tasks) {
    sha->set_partial_hash_conf(completed_well, completed_badly, num_tasks);
  }

  /// A task that is not submitted.
  ShaHashTask& task(Buf* src, Buf* dst, ShaAlgorithm algorithm = ShaAlgorithm::sha256, std::uint64_t user_data = 0) {
    ShaHashTask* task = nullptr;
    EXPECT_EQ(sha->hash(src, dst, algorithm, user_data, task), Status::success);
    return *task;
  }
  ShaHashTask& submitted(Buf* src, Buf* dst, ShaAlgorithm algorithm = ShaAlgorithm::sha256,
                         std::uint64_t user_data = 0) {
    ShaHashTask& posted = task(src, dst, algorithm, user_data);
    EXPECT_EQ(posted.submit(), Status::success);
    return posted;
  }

  /// A task for the first piece of a message, not submitted.
  ShaPartialHashTask& partial_task(Buf* src, Buf* dst, ShaAlgorithm algorithm = ShaAlgorithm::sha256,
                                   std::uint64_t user_data = 0) {
    ShaPartialHashTask* task = nullptr;
    EXPECT_EQ(sha->partial_hash(src, dst, algorithm, user_data, task), Status::success);
    return *task;
  }

  const std::shared_ptr<Sha>& sha = context;
};

inline std::string to_hex(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes) {
    text += digits[std::to_integer<std::size_t>(byte >> 4)];
    text += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

/// A message, as text that is repeated, with its digest in hexadecimal digits.
struct ShaVector {
  const char* name;
  ShaAlgorithm algorithm;
  std::string_view text;
  std::size_t times;
  std::string_view digest;
};

inline constexpr std::string_view two_blocks_of_512_bits = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
inline constexpr std::string_view two_blocks_of_1024_bits =
    "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
    "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";

/// The examples of FIPS 180-4, and the empty message.
inline constexpr ShaVector sha_vectors[] = {
    {"AbcSha1", ShaAlgorithm::sha1, "abc", 1, "a9993e364706816aba3e25717850c26c9cd0d89d"},
    {"AbcSha256", ShaAlgorithm::sha256, "abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"AbcSha512", ShaAlgorithm::sha512, "abc", 1,
     "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2"
     "a9ac94fa54ca49f"},
    {"EmptySha1", ShaAlgorithm::sha1, "", 1, "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
    {"EmptySha256", ShaAlgorithm::sha256, "", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"EmptySha512", ShaAlgorithm::sha512, "", 1,
     "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a"
     "538327af927da3e"},
    {"TwoBlocksOf512BitsSha1", ShaAlgorithm::sha1, two_blocks_of_512_bits, 1,
     "84983e441c3bd26ebaae4aa1f95129e5e54670f1"},
    {"TwoBlocksOf512BitsSha256", ShaAlgorithm::sha256, two_blocks_of_512_bits, 1,
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    {"TwoBlocksOf512BitsSha512", ShaAlgorithm::sha512, two_blocks_of_512_bits, 1,
     "204a8fc6dda82f0a0ced7beb8e08a41657c16ef468b228a8279be331a703c33596fd15c13b1b07f9aa1d3bea57789ca031ad85c7a71dd7035"
     "4ec631238ca3445"},
    {"TwoBlocksOf1024BitsSha1", ShaAlgorithm::sha1, two_blocks_of_1024_bits, 1,
     "a49b2446a02c645bf419f995b67091253a04a259"},
    {"TwoBlocksOf1024BitsSha256", ShaAlgorithm::sha256, two_blocks_of_1024_bits, 1,
     "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    {"TwoBlocksOf1024BitsSha512", ShaAlgorithm::sha512, two_blocks_of_1024_bits, 1,
     "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545"
     "e96e55b874be909"},
    {"AMillionTimesASha1", ShaAlgorithm::sha1, "a", 1000000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"},
    {"AMillionTimesASha256", ShaAlgorithm::sha256, "a", 1000000,
     "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    {"AMillionTimesASha512", ShaAlgorithm::sha512, "a", 1000000,
     "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973ebde0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4"
     "eadb217ad8cc09b"},
};

}  // namespace pydoca

#include "backend/sha_conformance.hpp"

namespace pydoca::conformance {

TEST_P(ShaConformance, TheStandardsExamplesHaveTheirDigests) {
  std::size_t count = 0;
  for (const ShaVector& vector : sha_vectors) {
    if (!Sha::is_algorithm_supported(device->info(), vector.algorithm)) {
      continue;
    }
    fill(dst->bytes, std::byte{0xee});
    Buf* const to = target(8);
    rig->submitted(source(vector.text, vector.times), to, vector.algorithm);
    ASSERT_TRUE(wait_for(++count));
    const std::uint32_t len = digest_size(vector.algorithm);
    EXPECT_EQ(rig->completions.back().status, Status::success) << vector.name;
    EXPECT_EQ(hex(8, len), vector.digest) << vector.name;
    EXPECT_EQ(to->data_len(), len);
    EXPECT_EQ(dst->bytes[7], std::byte{0xee});
    EXPECT_EQ(dst->bytes[8 + len], std::byte{0xee});
  }
  EXPECT_NE(count, 0U);
}

TEST_P(ShaConformance, AListIsOneMessage) {
  if (can().sha->max_list_buf_num_elem < 3) {
    GTEST_SKIP() << "the device takes no lists";
  }
  Buf* const from = source("a");
  for (const auto& [text, offset] : {std::pair{"", 500}, {"bc", 1000}}) {
    EXPECT_EQ(from->chain(*source(text, 1, static_cast<std::size_t>(offset))), Status::success);
  }
  Buf* const to = target();
  rig->submitted(from, to);
  ASSERT_TRUE(wait_for(1));
  EXPECT_EQ(hex(0, 32), sha_vectors[1].digest);
  held = {from, to};  // a list is freed by its head
}

TEST_P(ShaConformance, ADigestIsAppended) {
  Buf* const to = target(0, 100);
  for (std::size_t i = 1; i <= 3; ++i) {
    rig->submitted(source("abc"), to);
    ASSERT_TRUE(wait_for(i));
    EXPECT_EQ(to->data_len(), 32 * i);
    EXPECT_EQ(hex(32 * (i - 1), 32), sha_vectors[1].digest);
  }
}

TEST_P(ShaConformance, ManyTasksAtATimeAllComeBack) {
  constexpr std::size_t len = 100'000;
  Buf* const from = source("a", len);
  for (std::size_t i = 0; i < num_tasks; ++i) {
    rig->submitted(from, target(i * 64), ShaAlgorithm::sha256, i);
  }
  EXPECT_TRUE(rig->completions.empty()) << "completions come from progress only";
  ShaHashTask* task = nullptr;
  EXPECT_EQ(rig->sha->hash(from, from, ShaAlgorithm::sha256, 0, task), Status::no_memory);
  ASSERT_TRUE(wait_for(num_tasks));
  for (std::size_t i = 0; i < num_tasks; ++i) {
    EXPECT_EQ(rig->completions[i].status, Status::success);
    EXPECT_EQ(hex(i * 64, 32), hex(0, 32));
  }
}

TEST_P(ShaConformance, AnEngineThatSleepsIsWoken) {
  for (std::size_t i = 1; i <= 20; ++i) {
    rig->submitted(source("a", i % 2 != 0 ? 64 : 100'000), target());
    for (int tries = 0; rig->completions.size() < i && tries < 60; ++tries) {
      if (pe->progress() == 0) {
        pe->wait(1000);
      }
    }
    ASSERT_EQ(rig->completions.size(), i);
  }
}

TEST_P(ShaConformance, ADestinationThatMayNotBeWrittenFailsTheTaskAndTheContext) {
  MappedBytes fixed(device, 4096, Access::local_read_only);
  Buf* const to = bufs.by_addr(fixed, 0, 64);
  rig->submitted(source("abc"), to);
  ASSERT_TRUE(wait_for(1));
  EXPECT_EQ(rig->completions.back().status, Status::io_failed);
  ASSERT_TRUE(progress_until(*pe, [&] { return rig->sha->state() == ContextState::idle; }));
  EXPECT_EQ(rig->sha->failure(), Status::io_failed);
  EXPECT_EQ(to->dec_refcount(), Status::success);
  fixed.mmap->close();

  EXPECT_EQ(rig->sha->start(), Status::success);
  rig->submitted(source("abc"), target());
  ASSERT_TRUE(wait_for(2));
  EXPECT_EQ(rig->completions.back().status, Status::success) << "a failed context can be started again";
}

TEST_P(ShaConformance, AStopWithTasksInFlightBringsThemAllBack) {
  Buf* const from = source("a", size);
  for (std::size_t i = 0; i < num_tasks; ++i) {
    rig->submitted(from, target(i * 64));
  }
  static_cast<void>(rig->sha->stop());
  ASSERT_TRUE(progress_until(*pe, [&] { return rig->sha->state() == ContextState::idle; }));
  EXPECT_EQ(rig->completions.size(), num_tasks);
  for (const auto& completion : rig->completions) {
    EXPECT_TRUE(completion.status == Status::success || completion.status == Status::shutdown);
  }
}

TEST_P(ShaConformance, AnEngineOfCopiesAndOfHashesServesBoth) {
  if (!can().dma) {
    GTEST_SKIP() << "the device has no DMA engine";
  }
  constexpr std::size_t len = std::size_t{1} << 20;
  MappedBytes copy(device, len);
  Buf* const from = source("a", len);
  Buf* const to = bufs.by_addr(copy, 0, len);
  DmaRig other(device, pe, 4);
  EXPECT_EQ(other.dma->start(), Status::success);
  rig->submitted(from, target());
  other.submitted(from, to);
  EXPECT_TRUE(wait_for(1));
  EXPECT_TRUE(progress_until(*pe, [&] { return other.completions.size() == 1; }));
  EXPECT_EQ(rig->completions.back().status, Status::success);
  EXPECT_TRUE(same(copy.bytes, std::span(src->bytes).first(len)));
  EXPECT_EQ(to->dec_refcount(), Status::success);
  static_cast<void>(other.dma->stop());
  EXPECT_TRUE(progress_until(*pe, [&] { return other.dma->state() == ContextState::idle; }));
  other.dma->close();
}

}  // namespace pydoca::conformance

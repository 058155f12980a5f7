#include "backend/compress_conformance.hpp"

namespace pydoca::conformance {

TEST_P(CompressConformance, EveryTypeOfBlockIsExpandedAndHasItsChecksums) {
  std::size_t count = 0;
  rig->free_tasks = false;
  for (const DeflateVector& vector : deflate_vectors) {
    fill(dst->bytes, std::byte{0xee});
    Buf* const to = target(8);
    CompressDecompressDeflateTask& task = rig->submitted(source(from_hex(vector.deflate)), to);
    ASSERT_TRUE(wait_for(++count));
    EXPECT_EQ(rig->completions.back().status, Status::success) << vector.name;
    const std::size_t len = vector.text.size() * vector.times;
    EXPECT_EQ(to->data_len(), len);
    for (std::size_t i = 0; i < len; ++i) {
      ASSERT_EQ(dst->bytes[8 + i], static_cast<std::byte>(vector.text[i % vector.text.size()])) << vector.name;
    }
    EXPECT_EQ(task.crc_cs(), vector.crc) << vector.name;
    EXPECT_EQ(task.adler_cs(), vector.adler) << vector.name;
    EXPECT_EQ(dst->bytes[7], std::byte{0xee});
    EXPECT_EQ(dst->bytes[8 + len], std::byte{0xee});
    EXPECT_EQ(task.free(), Status::success);
  }
}

TEST_P(CompressConformance, ListsAreOneStreamAndOneDestination) {
  if (can().compress->decompress_deflate_max_buf_list_len < 3) {
    GTEST_SKIP() << "the device takes no lists";
  }
  const ByteVector text = plain(300'000);
  const ByteVector stream = stored(text);
  Buf* const from = source({stream.begin(), stream.begin() + 3});
  Buf* const to = target(0, 1);
  std::size_t at = 3;
  for (const std::size_t end : {std::size_t{4}, std::size_t{70'000}, stream.size()}) {
    const auto first = stream.begin() + static_cast<std::ptrdiff_t>(at);
    EXPECT_EQ(from->chain(*source({first, stream.begin() + static_cast<std::ptrdiff_t>(end)}, at)), Status::success);
    at = end;
  }
  for (const std::size_t end : {std::size_t{5}, std::size_t{200'001}, std::size_t{500'000}}) {
    EXPECT_EQ(to->chain(*target(at, end)), Status::success);
    at += end;
  }
  held = {from, to};  // a list is freed by its head
  rig->submitted(from, to);
  ASSERT_TRUE(wait_for(1));
  EXPECT_EQ(rig->completions.back().status, Status::success);
  EXPECT_EQ(to->list_data_len(), text.size());
  EXPECT_TRUE(same(written(0, 1), std::span(text).first(1)));
  EXPECT_TRUE(same(written(stream.size(), text.size() - 1), std::span(text).subspan(1)));
}

TEST_P(CompressConformance, PlainDataIsAppended) {
  const ByteVector text = plain(1000);
  Buf* const from = source(stored(text));
  Buf* const to = target();
  for (std::size_t i = 1; i <= 3; ++i) {
    rig->submitted(from, to);
    ASSERT_TRUE(wait_for(i));
    EXPECT_EQ(to->data_len(), text.size() * i);
    EXPECT_TRUE(same(written(text.size() * (i - 1), text.size()), text));
  }
}

TEST_P(CompressConformance, WhatFollowsTheStreamIsIgnored) {
  ByteVector stream = stored(plain(100));
  stream.insert(stream.end(), 50, std::byte{0xAA});
  Buf* const to = target();
  rig->submitted(source(stream), to);
  ASSERT_TRUE(wait_for(1));
  EXPECT_EQ(rig->completions.back().status, Status::success);
  EXPECT_EQ(to->data_len(), 100U);
}

TEST_P(CompressConformance, ManyTasksAtATimeAllComeBack) {
  const ByteVector text = plain(100'000);
  Buf* const from = source(stored(text));
  for (std::size_t i = 0; i < num_tasks; ++i) {
    rig->submitted(from, target(i * text.size(), text.size()), i);
  }
  EXPECT_TRUE(rig->completions.empty()) << "completions come from progress only";
  CompressDecompressDeflateTask* task = nullptr;
  EXPECT_EQ(rig->compress->decompress_deflate(from, from, 0, task), Status::no_memory);
  ASSERT_TRUE(wait_for(num_tasks));
  for (std::size_t i = 0; i < num_tasks; ++i) {
    EXPECT_EQ(rig->completions[i].status, Status::success);
    EXPECT_TRUE(same(written(i * text.size(), text.size()), text)) << i;
  }
}

TEST_P(CompressConformance, AnEngineThatSleepsIsWoken) {
  for (std::size_t i = 1; i <= 20; ++i) {
    rig->submitted(source(stored(plain(i % 2 != 0 ? 64 : 100'000))), target());
    for (int tries = 0; rig->completions.size() < i && tries < 60; ++tries) {
      if (pe->progress() == 0) {
        pe->wait(1000);
      }
    }
    ASSERT_EQ(rig->completions.size(), i);
  }
}

TEST_P(CompressConformance, WhatCannotBeExpandedFailsTheTaskAndTheContext) {
  const ByteVector good = stored(plain(1000));
  const ByteVector short_of_its_end(good.begin(), good.begin() + 500);
  const struct {
    ByteVector stream;
    std::size_t room;
  } faults[] = {{from_hex("07"), 64}, {short_of_its_end, 4096}, {good, 999}, {good, 1}};
  std::size_t count = 0;
  for (const auto& [stream, room] : faults) {
    rig->submitted(source(stream), target(0, room));
    ASSERT_TRUE(wait_for(++count));
    EXPECT_EQ(rig->completions.back().status, Status::io_failed);
    ASSERT_TRUE(progress_until(*pe, [&] { return rig->compress->state() == ContextState::idle; }));
    EXPECT_EQ(rig->compress->failure(), Status::io_failed);
    EXPECT_EQ(rig->compress->start(), Status::success);
  }
  Buf* const to = target(0, 1000);
  rig->submitted(source(good), to);
  ASSERT_TRUE(wait_for(++count));
  EXPECT_EQ(rig->completions.back().status, Status::success) << "a failed context can be started again";
  EXPECT_EQ(to->data_len(), 1000U) << "a destination may be filled to its end";
}

TEST_P(CompressConformance, AStopWithTasksInFlightBringsThemAllBack) {
  constexpr std::size_t len = size / num_tasks;
  Buf* const from = source(stored(plain(len)));
  for (std::size_t i = 0; i < num_tasks; ++i) {
    rig->submitted(from, target(i * len, len));
  }
  static_cast<void>(rig->compress->stop());
  ASSERT_TRUE(progress_until(*pe, [&] { return rig->compress->state() == ContextState::idle; }));
  EXPECT_EQ(rig->completions.size(), num_tasks);
  for (const auto& completion : rig->completions) {
    EXPECT_TRUE(completion.status == Status::success || completion.status == Status::shutdown);
  }
}

}  // namespace pydoca::conformance

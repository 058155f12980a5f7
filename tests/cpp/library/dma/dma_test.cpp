#include <pydoca/dma.hpp>

#include "rig/bytes.hpp"
#include "rig/expect_error.hpp"
#include "rig/library/dma_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <random>
#include <string>

namespace pydoca {
namespace {

constexpr std::byte red{0xAB};
constexpr std::size_t red_zone = 128;

std::span<const std::byte> view(const MappedBytes& memory, std::size_t offset, std::size_t len) {
  return std::span(memory.bytes).subspan(offset, len);
}

bool all_red(std::span<const std::byte> bytes) {
  return bytes.empty() || (bytes[0] == red && same(bytes.first(bytes.size() - 1), bytes.subspan(1)));
}

class DmaCopyTest : public DmaTest {
 protected:
  void SetUp() override {
    ASSERT_EQ(rig.dma->start(), Status::success);
    fill_pattern(src_memory.bytes, 1);
    fill(dst_memory.bytes, red);
  }

  Status copy(Buf* src, Buf* dst) {
    rig.submitted(src, dst);
    rig.progress_until(rig.completions.size() + 1);
    return rig.completions.back().status;
  }
};

constexpr std::size_t k = 1024;
constexpr std::size_t m = 1024 * k;

/// Around powers of two, around the size above which workers share the copy, and around the pieces they share it in.
constexpr std::array<std::size_t, 27> sizes{
    1,          2,           63,         64,          65,        4 * k - 1,   4 * k,       4 * k + 1, 16 * k,
    64 * k - 1, 64 * k,      64 * k + 1, 128 * k - 1, 128 * k,   128 * k + 1, 256 * k - 1, 256 * k,   256 * k + 1,
    384 * k,    512 * k + 1, 1 * m - 1,  1 * m,       1 * m + 1, 2 * m - 1,   2 * m,       2 * m + 1, 3 * m + 17};

class DmaSizeTest : public DmaCopyTest, public testing::WithParamInterface<std::size_t> {};

TEST_P(DmaSizeTest, CopiesExactlyTheDataAtAnyAlignment) {
  const std::size_t size = GetParam();
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{63}}) {
    const std::size_t to = red_zone + 64 - offset;
    fill(dst_memory.bytes, red);
    Buf* const src = bufs.by_data(src_memory, offset, size);
    Buf* const dst = bufs.by_addr(dst_memory, to, size);
    ASSERT_EQ(copy(src, dst), Status::success);
    EXPECT_TRUE(same(view(src_memory, offset, size), view(dst_memory, to, size)));
    EXPECT_TRUE(all_red(view(dst_memory, 0, to)));
    EXPECT_TRUE(all_red(view(dst_memory, to + size, red_zone)));
    EXPECT_EQ(dst->data_len(), size);
    EXPECT_EQ(src->data_len(), size);
    Bufs::free({src, dst});
  }
}

TEST_P(DmaSizeTest, CopiesWhileTheOwnerSleeps) {
  const std::size_t size = GetParam();
  Buf* const src = bufs.by_data(src_memory, 3, size);
  Buf* const dst = bufs.by_addr(dst_memory, red_zone, size);
  rig.submitted(src, dst);
  rig.sleep_until(1);
  EXPECT_EQ(rig.completions.back().status, Status::success);
  EXPECT_TRUE(same(view(src_memory, 3, size), view(dst_memory, red_zone, size)));
  EXPECT_TRUE(all_red(view(dst_memory, red_zone + size, red_zone)));
  Bufs::free({src, dst});
}

INSTANTIATE_TEST_SUITE_P(Sizes, DmaSizeTest, testing::ValuesIn(sizes),
                         [](const auto& test) { return std::to_string(test.param); });

TEST_F(DmaCopyTest, AppendsBehindTheDataAndLeavesTheHeadroom) {
  Buf* const src = bufs.by_data(src_memory, 0, 100);
  Buf* const dst = bufs.by_addr(dst_memory, 1000, 400);
  ASSERT_EQ(dst->set_data(dst_memory.addr(1050), 50), Status::success);
  ASSERT_EQ(copy(src, dst), Status::success);
  EXPECT_TRUE(all_red(view(dst_memory, 0, 1100))) << "headroom and old data";
  EXPECT_TRUE(same(view(src_memory, 0, 100), view(dst_memory, 1100, 100)));
  EXPECT_TRUE(all_red(view(dst_memory, 1200, 300)));
  EXPECT_EQ(dst->data(), dst_memory.addr(1050));
  EXPECT_EQ(dst->data_len(), 150U);

  ASSERT_EQ(copy(src, dst), Status::success);
  EXPECT_EQ(dst->data_len(), 250U);
  EXPECT_TRUE(same(view(src_memory, 0, 100), view(dst_memory, 1200, 100)));
  EXPECT_EQ(dst->tailroom(), 100U);
  ASSERT_EQ(dst->reset_data_len(), Status::success);
  ASSERT_EQ(copy(src, dst), Status::success);
  EXPECT_TRUE(same(view(src_memory, 0, 100), view(dst_memory, 1050, 100)));
  Bufs::free({src, dst});
}

TEST_F(DmaCopyTest, ReadsOnlyTheDataSectionOfASource) {
  Buf* const src = bufs.by_addr(src_memory, 0, 1000);
  ASSERT_EQ(src->set_data(src_memory.addr(300), 200), Status::success);
  Buf* const dst = bufs.by_addr(dst_memory, 0, 1000);
  ASSERT_EQ(copy(src, dst), Status::success);
  EXPECT_TRUE(same(view(src_memory, 300, 200), view(dst_memory, 0, 200)));
  EXPECT_TRUE(all_red(view(dst_memory, 200, 800)));
  EXPECT_EQ(dst->data_len(), 200U);
  Bufs::free({src, dst});
}

TEST_F(DmaCopyTest, CopiesABufToItsOwnTailroom) {
  Buf* const buf = bufs.by_addr(src_memory, 0, 200);
  ASSERT_EQ(buf->set_data_len(100), Status::success);
  ASSERT_EQ(copy(buf, buf), Status::success);
  EXPECT_EQ(buf->data_len(), 200U);
  EXPECT_TRUE(same(view(src_memory, 0, 100), view(src_memory, 100, 100)));
  Bufs::free({buf});
}

// ---- Lists ------------------------------------------------------------------------------------------------------

/// A list over random pieces of memory, with headroom, data and tailroom in each, in the shape of a seed; gaps between.
Buf* random_list(Bufs& bufs, const MappedBytes& memory, std::size_t elements, std::size_t max_len, std::mt19937& random,
                 bool with_data) {
  Buf* head = nullptr;
  std::size_t offset = red_zone;
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  for (std::size_t i = 0; i < elements; ++i) {
    const std::size_t len = 1 + below(max_len);
    Buf* const buf = bufs.by_addr(memory, offset, len);
    const std::size_t headroom = below(len / 2 + 1);
    // Now and then an element without data, or without tailroom.
    const std::size_t data = below(4) == 0 ? 0
                             : with_data   ? len - headroom - below((len - headroom) / 4)
                                           : below(len - headroom + 1);
    EXPECT_EQ(buf->set_data(memory.addr(offset + headroom), data), Status::success);
    offset += len + red_zone;
    if (head == nullptr) {
      head = buf;
    } else {
      EXPECT_EQ(head->chain(*buf), Status::success);
    }
  }
  return head;
}

Bytes gather(const Buf& head) {
  Bytes bytes;
  for (const Buf* buf = &head; buf != nullptr; buf = buf->next()) {
    const auto* const data = std::bit_cast<const std::byte*>(buf->data());
    bytes.insert(bytes.end(), data, data + buf->data_len());
  }
  return bytes;
}

/// The expected memory, if image is the memory before bytes are copied to head.
void scatter(const Buf& head, std::span<const std::byte> bytes, std::uint64_t base, std::span<std::byte> image) {
  for (const Buf* buf = &head; buf != nullptr && !bytes.empty(); buf = buf->next()) {
    const std::size_t count = std::min<std::size_t>(bytes.size(), buf->tailroom());
    const std::size_t at = buf->data() + buf->data_len() - base;
    std::memcpy(&image[at], bytes.data(), count);
    bytes = bytes.subspan(count);
  }
}

struct ListShape {
  std::uint32_t seed;
  std::size_t max_len;
};

class DmaListTest : public DmaCopyTest, public testing::WithParamInterface<ListShape> {};

TEST_P(DmaListTest, CopiesRandomListsToRandomLists) {
  std::mt19937 random(GetParam().seed);
  SCOPED_TRACE("seed " + std::to_string(GetParam().seed));
  for (int round = 0; round < 20; ++round) {
    fill(dst_memory.bytes, red);
    Buf* const src = random_list(bufs, src_memory, 1 + random() % 64, GetParam().max_len, random, true);
    Buf* const dst = random_list(bufs, dst_memory, 1 + random() % 64, GetParam().max_len, random, false);
    // The last source element is cut so that all fits.
    while (src->list_data_len() > dst->list_tailroom() || src->list_data_len() == 0) {
      for (Buf* buf = src; buf != nullptr; buf = buf->next()) {
        ASSERT_EQ(buf->set_data_len(std::min<std::uint64_t>(buf->data_len() / 2, dst->list_tailroom())),
                  Status::success);
      }
      if (src->list_data_len() == 0) {
        ASSERT_EQ(src->set_data(src->head(), 1), Status::success);
        ASSERT_GT(dst->list_tailroom(), 0U);
        break;
      }
    }
    const Bytes bytes = gather(*src);
    Bytes expected = dst_memory.bytes;
    scatter(*dst, bytes, dst_memory.addr(), expected);
    const std::uint64_t before = dst->list_data_len();
    ASSERT_EQ(copy(src, dst), Status::success);
    ASSERT_TRUE(same(dst_memory.bytes, expected)) << "round " << round;
    EXPECT_EQ(dst->list_data_len(), before + bytes.size());
    Bufs::free({src, dst});
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, DmaListTest,
                         testing::Values(ListShape{1, 16}, ListShape{2, 300}, ListShape{3, 5000}, ListShape{4, 60000},
                                         ListShape{5, 64000}),
                         [](const auto& test) { return "Seed" + std::to_string(test.param.seed); });

TEST_F(DmaCopyTest, FillsElementAfterElementAndLeavesLaterOnesEmpty) {
  Buf* const src = bufs.by_data(src_memory, 0, 150);
  Buf* const first = bufs.by_addr(dst_memory, 0, 100);
  Buf* const second = bufs.by_addr(dst_memory, 200, 100);
  Buf* const third = bufs.by_addr(dst_memory, 400, 100);
  ASSERT_EQ(first->chain(*second), Status::success);
  ASSERT_EQ(first->chain(*third), Status::success);
  ASSERT_EQ(copy(src, first), Status::success);
  EXPECT_EQ(first->data_len(), 100U);
  EXPECT_EQ(second->data_len(), 50U);
  EXPECT_EQ(third->data_len(), 0U);
  EXPECT_TRUE(all_red(view(dst_memory, 250, 350)));
  Bufs::free({src, first});
}

// ---- Refused tasks ----------------------------------------------------------------------------------------------

/// One error in a task.
struct Misuse {
  const char* name;
  const char* reason;  ///< the task's explanation
  void (*arrange)(DmaCopyTest& test, Buf*& src, Buf*& dst);
};

class DmaMisuseTest : public DmaCopyTest, public testing::WithParamInterface<Misuse> {
 public:
  Buf* from(const MappedBytes& memory, std::size_t len, bool with_data) {
    return with_data ? bufs.by_data(memory, 0, len) : bufs.by_addr(memory, 0, len);
  }

  MappedBytes huge{device, memory_size + 1};
  fake::Backend other_backend;
  std::shared_ptr<Device> elsewhere = other_backend.open_device();
  MappedBytes unreachable{elsewhere, 64};
  MappedBytes read_only{device, 64, Access::local_read_only};
};

DmaMisuseTest& of(DmaCopyTest& test) { return static_cast<DmaMisuseTest&>(test); }

TEST_P(DmaMisuseTest, TrySubmitRefusesSubmitFailsAtCompletion) {
  Buf* src = from(src_memory, 64, true);
  Buf* dst = from(dst_memory, 64, false);
  Buf* const first_src = src;
  Buf* const first_dst = dst;
  GetParam().arrange(*this, src, dst);
  DmaMemcpyTask& task = rig.task(src, dst, 1);
  rig.expect_refused(task, GetParam().reason, std::string_view(GetParam().name) == "ReadOnlyDestination");
  EXPECT_TRUE(all_red(dst_memory.bytes));
  for (Buf* const buf : {src, dst, first_src != src ? first_src : nullptr, first_dst != dst ? first_dst : nullptr}) {
    if (buf != nullptr && buf->is_first()) {
      EXPECT_FALSE(buf->in_flight());
      EXPECT_EQ(buf->dec_refcount(), Status::success);
    }
  }
}

constexpr Misuse misuses[] = {
    {"NoSource", "src is missing; set it before the task is submitted",
     [](DmaCopyTest&, Buf*& src, Buf*&) { src = nullptr; }},
    {"NoDestination", "dst is missing; set it before the task is submitted",
     [](DmaCopyTest&, Buf*&, Buf*& dst) { dst = nullptr; }},
    {"EmptySource", "src has no data; set its data section",
     [](DmaCopyTest&, Buf*& src, Buf*&) { EXPECT_EQ(src->reset_data_len(), Status::success); }},
    {"FullDestination", "src has 64 bytes of data, and dst has 63 bytes of tailroom",
     [](DmaCopyTest&, Buf*&, Buf*& dst) { EXPECT_EQ(dst->set_data_len(1), Status::success); }},
    {"OversizedTask", "src has 4194305 bytes of data, and fake0 takes at most 4194304 in one task (max_buf_size)",
     [](DmaCopyTest& test, Buf*& src, Buf*& dst) {
       src = of(test).from(of(test).huge, of(test).huge.bytes.size(), true);
       dst = of(test).from(of(test).huge, of(test).huge.bytes.size(), false);
     }},
    {"LongSourceList", "src is a list of 65 bufs, and max_buf_list_len is 64",
     [](DmaCopyTest& test, Buf*& src, Buf*& dst) {
       src = test.bufs.list(of(test).huge, 65, true);
       dst = of(test).from(of(test).huge, 1024, false);
     }},
    {"LongDestinationList", "dst is a list of 65 bufs, and max_buf_list_len is 64",
     [](DmaCopyTest& test, Buf*&, Buf*& dst) { dst = test.bufs.list(of(test).huge, 65, false); }},
    {"UnreachableSource", "src lies in a memory map that fake0 was not added to; map the memory with that device",
     [](DmaCopyTest& test, Buf*& src, Buf*&) { src = of(test).from(of(test).unreachable, 64, true); }},
    {"UnreachableDestination", "dst lies in a memory map that fake0 was not added to; map the memory with that device",
     [](DmaCopyTest& test, Buf*&, Buf*& dst) { dst = of(test).from(of(test).unreachable, 64, false); }},
    {"ReadOnlyDestination", "dst's memory map does not permit local_read_write; map the memory with that access",
     [](DmaCopyTest& test, Buf*&, Buf*& dst) { dst = of(test).from(of(test).read_only, 64, false); }},
    {"InnerElementAsSource", "src is a later element of a list; give the list's first",
     [](DmaCopyTest&, Buf*& src, Buf*& dst) {
       // dst's list contains the source.
       EXPECT_EQ(dst->chain(*src), Status::success);
       EXPECT_EQ(dst->set_data_len(0), Status::success);
     }},
};

INSTANTIATE_TEST_SUITE_P(Each, DmaMisuseTest, testing::ValuesIn(misuses),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_F(DmaCopyTest, ABufThatWasGivenBackIsNotTaken) {
  Buf* const other = bufs.by_data(src_memory, 0, 64);
  for (const bool is_list : {false, true}) {
    Buf* const freed = is_list ? bufs.list(src_memory, 3, true) : bufs.by_data(src_memory, 0, 64);
    Bufs::free({freed});
    rig.expect_not_taken(rig.task(freed, other), "src");
    rig.expect_not_taken(rig.task(other, freed), "dst");
    EXPECT_FALSE(freed->in_flight());
  }
  Bufs::free({other});
}

TEST_F(DmaCopyTest, TrySubmitTakesWhatIsAtTheLimits) {
  Buf* const src = bufs.by_data(src_memory, 0, memory_size);
  Buf* const dst = bufs.by_addr(dst_memory, 0, memory_size);
  ASSERT_EQ(rig.task(src, dst).try_submit(), Status::success);
  rig.progress_until(1);
  EXPECT_EQ(rig.completions.back().status, Status::success);
  EXPECT_EQ(src_memory.bytes, dst_memory.bytes);
  Bufs::free({src, dst});
}

TEST_F(DmaTest, RefusesABadConfiguration) {
  const auto callback = [](Task&, std::uint64_t, std::uint64_t) noexcept {};
  EXPECT_EQ(thrown_by([&] { rig.dma->set_memcpy_conf(callback, callback, 0); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { rig.dma->set_memcpy_conf(callback, callback, (1U << 17) + 1); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { rig.dma->set_memcpy_conf(nullptr, callback, 1); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { rig.dma->set_memcpy_conf(callback, nullptr, 1); }), Status::invalid_value);
}

TEST(Dma, NeedsADeviceWithAnEngine) {
  fake::Backend backend({.has_dma = false});
  const auto device = backend.open_device();
  EXPECT_FALSE(Dma::is_supported(device->info()));
  EXPECT_EQ(thrown_by([&] { Dma::create(device); }), Status::not_supported);
  EXPECT_EQ(thrown_by([&] { Dma::create(nullptr); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { static_cast<void>(Dma::max_buf_size(device->info())); }), Status::not_supported);
  EXPECT_EQ(thrown_by([&] { static_cast<void>(Dma::max_buf_list_len(device->info())); }), Status::not_supported);
  EXPECT_EQ(thrown_by([&] { static_cast<void>(Dma::max_num_tasks(device->info())); }), Status::not_supported);
  EXPECT_EQ(device->num_users(), 0U);
}

TEST(Dma, TellsItsDevicesLimits) {
  fake::Backend backend({.dma = {.max_buf_size = 4096, .max_buf_list_len = 2, .max_num_tasks = 8}});
  const auto device = backend.open_device();
  EXPECT_TRUE(Dma::is_supported(device->info()));
  EXPECT_EQ(Dma::max_buf_size(device->info()), 4096U);
  EXPECT_EQ(Dma::max_buf_list_len(device->info()), 2U);
  EXPECT_EQ(Dma::max_num_tasks(device->info()), 8U);
}

// ---- Stress -----------------------------------------------------------------------------------------------------

class DmaStressTest : public DmaCopyTest, public testing::WithParamInterface<std::uint32_t> {};

/// Slots of memory with a task each, of random sizes, resubmitted as they complete; sometimes the owner sleeps.
TEST_P(DmaStressTest, EveryTaskCompletesOnceWithItsData) {
  constexpr std::size_t slots = 8;
  constexpr std::size_t slot_size = memory_size / slots;
  constexpr std::size_t total = 400;
  std::mt19937 random(GetParam());
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::array<std::size_t, slots> lengths{};
  std::array<Buf*, slots> sources{};
  std::array<Buf*, slots> targets{};
  std::vector<std::size_t> free_slots(slots);
  std::iota(free_slots.begin(), free_slots.end(), std::size_t{0});
  rig.in_callback = [&](DmaMemcpyTask& task) {
    const std::size_t slot = task.user_data();
    ASSERT_EQ(task.status(), Status::success);
    const std::size_t at = slot * slot_size;
    ASSERT_TRUE(same(view(src_memory, at, lengths[slot]), view(dst_memory, at, lengths[slot])));
    Bufs::free({sources[slot], targets[slot]});
    free_slots.push_back(slot);
  };
  std::size_t submitted = 0;
  while (rig.completions.size() < total) {
    while (submitted < total && !free_slots.empty() && random() % 4 != 0) {
      const std::size_t slot = free_slots.back();
      free_slots.pop_back();
      lengths[slot] = 1 + random() % (random() % 2 == 0 ? slot_size : 4096);
      fill_pattern(std::span(src_memory.bytes).subspan(slot * slot_size, lengths[slot]), random());
      sources[slot] = bufs.by_data(src_memory, slot * slot_size, lengths[slot]);
      targets[slot] = bufs.by_addr(dst_memory, slot * slot_size, lengths[slot]);
      const SubmitFlags flags = random() % 3 == 0 ? SubmitFlags::none : SubmitFlags::flush;
      ASSERT_EQ(rig.task(sources[slot], targets[slot], slot).try_submit(flags), Status::success);
      ++submitted;
    }
    rig.dma->flush_tasks();
    if (random() % 4 == 0 && pe->num_inflight_tasks() != 0) {
      rig.sleep_until(rig.completions.size() + 1);
    } else {
      pe->progress();
    }
  }
  EXPECT_EQ(rig.completions.size(), total);
  EXPECT_EQ(pe->progress(), 0);
}

INSTANTIATE_TEST_SUITE_P(Seeds, DmaStressTest, testing::Values(1U, 2U, 3U, 4U));

TEST_F(DmaCopyTest, StopsDuringLargeCopiesWithoutTouchingMemoryAfterwards) {
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < 8; ++i) {
      submit_large(i, i * large_size);
    }
    for (int steps = 0; steps < round; ++steps) {
      pe->progress();
    }
    static_cast<void>(rig.dma->stop());
    rig.progress_until_idle();
    free_held();
    // No thread may write here from now on; a late worker would.
    fill(dst_memory.bytes, red);
    ASSERT_EQ(rig.dma->start(), Status::success);
    EXPECT_TRUE(all_red(dst_memory.bytes));
  }
}

}  // namespace
}  // namespace pydoca

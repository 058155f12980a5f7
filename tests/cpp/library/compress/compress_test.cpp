#include <pydoca/capabilities.hpp>
#include <pydoca/compress.hpp>
#include <pydoca/sim.hpp>

#include "detail/concat.hpp"
#include "rig/bytes.hpp"
#include "rig/expect_error.hpp"
#include "rig/fake_device.hpp"
#include "rig/library/compress_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace pydoca {
namespace {

using testing::HasSubstr;

/// A started Compress with memory of its own. The source is 1,000 bytes in stored blocks.
class CompressTest : public HeldBufsTest {
 public:
  void SetUp() override {
    ASSERT_EQ(rig.compress->start(), Status::success);
    fill_pattern(plain, 1);
    std::ranges::copy(stream, src_memory.bytes.begin());
  }
  void TearDown() override {
    EXPECT_EQ(rig.compress->stop(), Status::success);
    rig.progress_until_idle();
    HeldBufsTest::TearDown();
  }

  Buf* source(std::size_t len) { return hold(bufs.by_data(src_memory, 0, len)); }
  Buf* source() { return source(stream.size()); }
  Buf* target(std::size_t len = 4096) { return hold(bufs.by_addr(dst_memory, 0, len)); }
  /// What the failed task says of its fault.
  std::string failure_of(Buf* src, Buf* dst) {
    std::string reason;
    rig.in_callback = [&](const CompressDecompressDeflateTask& failed) { reason = failed.explain(failed.status()); };
    rig.submitted(src, dst);
    rig.progress_until_idle();
    EXPECT_EQ(rig.completions.back().status, Status::io_failed);
    EXPECT_EQ(rig.compress->start(), Status::success);
    return reason;
  }

  std::shared_ptr<Device> device = Device::open(find_device("p0", Side::dpu));
  std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
  MappedBytes src_memory{device, std::size_t{4} << 20};
  MappedBytes dst_memory{device, std::size_t{4} << 20};
  CompressRig rig{device, pe, 64};
  ByteVector plain = ByteVector(1000);
  ByteVector stream = stored(plain);
};

TEST_F(CompressTest, AFailedTaskSaysWhatIsWrongWithItsData) {
  constexpr std::string_view what_follows = "; the context stops: start it again once it is idle";
  EXPECT_EQ(
      failure_of(source(), target(999)),
      detail::concat("src's 1005 bytes expand to more than the 999 bytes of tailroom that dst has", what_follows));
  EXPECT_EQ(failure_of(source(1004), target()),
            detail::concat("src's 1004 bytes end before the last block of their DEFLATE data does", what_follows));
  src_memory.bytes[0] = std::byte{0x78};  // a header of zlib
  src_memory.bytes[1] = std::byte{0x9c};
  EXPECT_EQ(failure_of(source(), target()),
            detail::concat("src's 1005 bytes are not raw DEFLATE data (RFC 1951); leave out a header of zlib or gzip",
                           what_follows));
}

TEST_F(CompressTest, ATaskIsUsedAgainWithOtherOperands) {
  rig.free_tasks = false;
  Buf* const dst = target();
  CompressDecompressDeflateTask& task = rig.submitted(source(), dst);
  EXPECT_EQ(task.set_src(nullptr), Status::in_use);
  EXPECT_EQ(task.set_dst(nullptr), Status::in_use);
  EXPECT_EQ(task.submit(), Status::bad_state);
  EXPECT_EQ(task.free(), Status::in_use);
  rig.progress_until(1);
  const std::uint32_t crc = task.crc_cs();
  EXPECT_NE(crc, 0U);
  EXPECT_EQ(task.submit(), Status::success);
  rig.progress_until(2);
  EXPECT_EQ(dst->data_len(), 2000U);
  EXPECT_EQ(task.crc_cs(), crc) << "the checksum is that of one submission";
  EXPECT_EQ(task.free(), Status::success);
}

TEST_F(CompressTest, TwoTasksDoNotFillOneDestination) {
  Buf* const dst = target();
  rig.submitted(source(), dst);
  CompressDecompressDeflateTask& second = rig.task(source(), dst);
  EXPECT_EQ(second.submit(), Status::in_use);
  EXPECT_EQ(second.free(), Status::success);
  rig.progress_until(1);
}

TEST_F(CompressTest, BytesAtRandomNeverDoMoreThanFail) {
  std::mt19937 random(5);  // NOLINT(bugprone-random-generator-seed): each run must be the same
  fill(dst_memory.bytes, std::byte{0xEE});
  for (int round = 0; round < 3000; ++round) {
    const std::size_t len = 1 + random() % 300;
    for (std::byte& byte : std::span(src_memory.bytes).first(len)) {
      byte = static_cast<std::byte>(random());
    }
    Buf* const dst = target(1 + random() % 600);
    rig.submitted(source(len), dst);
    rig.progress_until(rig.completions.size() + 1);
    const bool failed = rig.completions.back().status == Status::io_failed;
    EXPECT_TRUE(failed || rig.completions.back().status == Status::success);
    if (failed) {
      rig.progress_until_idle();
      ASSERT_EQ(rig.compress->start(), Status::success);
    }
    EXPECT_LE(dst->data_len(), dst->len());
    free_held();
  }
  EXPECT_EQ(dst_memory.bytes[601], std::byte{0xEE});
}

TEST_F(CompressTest, ABufThatWasGivenBackIsNotTaken) {
  Buf* const src = source();
  Buf* const dst = target();
  Buf* const freed = bufs.by_data(src_memory, 0, 64);
  Bufs::free({freed});
  rig.expect_not_taken(rig.task(freed, dst), "src");
  rig.expect_not_taken(rig.task(src, freed), "dst");
}

// ---- What is refused --------------------------------------------------------------------------------------------

/// One way to get a task wrong.
struct CompressMisuse {
  const char* name;
  const char* reason;  ///< what the task says of it; for a local permission, once it has failed
  void (*arrange)(CompressTest& test, CompressDecompressDeflateTask& task);
};

class CompressMisuseTest : public CompressTest, public testing::WithParamInterface<CompressMisuse> {
 public:
  fake::Backend other_backend;
  MappedBytes unreachable{other_backend.open_device(), 64};
  MappedBytes read_only{device, 64, Access::local_read_only};
};

CompressMisuseTest& of(CompressTest& test) { return static_cast<CompressMisuseTest&>(test); }

TEST_P(CompressMisuseTest, TrySubmitRefusesSubmitFailsAtCompletion) {
  CompressDecompressDeflateTask& task = rig.task(source(), target(), 1);
  GetParam().arrange(*this, task);
  rig.expect_refused(task, GetParam().reason, std::string_view(GetParam().name) == "ReadOnlyDestination");
}

constexpr CompressMisuse compress_misuses[] = {
    {"NoSource", "src is missing; set it before the task is submitted",
     [](CompressTest&, CompressDecompressDeflateTask& task) { static_cast<void>(task.set_src(nullptr)); }},
    {"NoDestination", "dst is missing; set it before the task is submitted",
     [](CompressTest&, CompressDecompressDeflateTask& task) { static_cast<void>(task.set_dst(nullptr)); }},
    {"EmptySource", "src has no data; set its data section",
     [](CompressTest&, CompressDecompressDeflateTask& task) { static_cast<void>(task.src()->reset_data_len()); }},
    {"LongSourceList", "src is a list of 129 bufs, and decompress_deflate_max_buf_list_len is 128",
     [](CompressTest& test, CompressDecompressDeflateTask& task) {
       static_cast<void>(task.set_src(test.hold(test.bufs.list(test.src_memory, 129, true))));
     }},
    {"LongDestinationList", "dst is a list of 129 bufs, and decompress_deflate_max_buf_list_len is 128",
     [](CompressTest& test, CompressDecompressDeflateTask& task) {
       static_cast<void>(task.set_dst(test.hold(test.bufs.list(test.dst_memory, 129, false))));
     }},
    {"LargeSource",
     "src has 2097153 bytes of data, and p0 takes at most 2097152 in one task (decompress_deflate_max_buf_size)",
     [](CompressTest& test, CompressDecompressDeflateTask& task) {
       static_cast<void>(task.set_src(test.source((std::size_t{2} << 20) + 1)));
     }},
    {"UnreachableSource", "src lies in a memory map that p0 was not added to; map the memory with that device",
     [](CompressTest& test, CompressDecompressDeflateTask& task) {
       static_cast<void>(task.set_src(test.hold(test.bufs.by_data(of(test).unreachable, 0, 64))));
     }},
    {"UnreachableDestination", "dst lies in a memory map that p0 was not added to; map the memory with that device",
     [](CompressTest& test, CompressDecompressDeflateTask& task) {
       static_cast<void>(task.set_dst(test.hold(test.bufs.by_addr(of(test).unreachable, 0, 64))));
     }},
    {"ReadOnlyDestination", "dst's memory map does not permit local_read_write; map the memory with that access",
     [](CompressTest& test, CompressDecompressDeflateTask& task) {
       static_cast<void>(task.set_dst(test.hold(test.bufs.by_addr(of(test).read_only, 0, 64))));
     }},
};

INSTANTIATE_TEST_SUITE_P(Each, CompressMisuseTest, testing::ValuesIn(compress_misuses),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Compress, TellsItsDevicesLimits) {
  const DeviceInfo info = find_device("p0", Side::dpu);
  EXPECT_TRUE(Compress::is_supported(info));
  EXPECT_TRUE(Compress::is_decompress_deflate_supported(info));
  EXPECT_EQ(Compress::max_decompress_deflate_buf_size(info), std::uint64_t{2} << 20);
  EXPECT_EQ(Compress::max_decompress_deflate_buf_list_len(info), 128U);
  EXPECT_EQ(Compress::max_num_tasks(info), 65536U);
  sim::set_topology(sim::default_topology("bluefield2"));
  EXPECT_EQ(Compress::max_decompress_deflate_buf_size(find_device("p0", Side::dpu)), std::uint64_t{128} << 20);
}

TEST(Compress, NeedsADeviceWithAnEngine) {
  sim::Topology topology = sim::default_topology();
  for (sim::Function& function : topology.functions) {
    function.properties.capabilities.compress.reset();
  }
  sim::set_topology(std::move(topology));
  const auto device = Device::open(find_device("p0", Side::dpu));
  EXPECT_FALSE(Compress::is_supported(device->info()));
  EXPECT_FALSE(Compress::is_decompress_deflate_supported(device->info()));
  EXPECT_THAT(reason_of([&] { Compress::create(device); }), HasSubstr("compress: p0 has no compression engine: "));
  EXPECT_EQ(thrown_by([&] { Compress::create(device); }), Status::not_supported);
  EXPECT_EQ(thrown_by([&] { Compress::create(nullptr); }), Status::invalid_value);
  EXPECT_EQ(thrown_by([&] { static_cast<void>(Compress::max_num_tasks(device->info())); }), Status::not_supported);
}

TEST(Compress, RefusesABadConfiguration) {
  const auto compress = Compress::create(Device::open(find_device("p0", Side::dpu)));
  const auto pe = ProgressEngine::create();
  const auto callback = [](Task&, std::uint64_t, std::uint64_t) noexcept {};
  for (const std::uint32_t count : {0U, 65537U}) {
    EXPECT_EQ(thrown_by([&] { compress->set_decompress_deflate_conf(callback, callback, count); }),
              Status::invalid_value);
  }
  pe->connect(compress);
  EXPECT_THAT(reason_of([&] { return compress->start(); }), HasSubstr("set_decompress_deflate_conf"));
  CompressDecompressDeflateTask* task = nullptr;
  EXPECT_EQ(compress->decompress_deflate(nullptr, nullptr, 0, task), Status::bad_state);
}

// ---- Ends, and memory of others ---------------------------------------------------------------------------------

TEST_F(CompressTest, TasksInFlightFailWhenTheDeviceIsRemoved) {
  const ByteVector large = stored(ByteVector(250'000));
  std::ranges::copy(large, src_memory.bytes.begin());
  for (std::size_t i = 0; i < 16; ++i) {
    rig.submitted(source(large.size()), hold(bufs.by_addr(dst_memory, i << 18, std::size_t{1} << 18)));
  }
  sim::remove_device("p0");
  rig.progress_until_idle();
  EXPECT_EQ(rig.completions.size(), 16U);
  EXPECT_EQ(rig.compress->failure(), Status::driver);
  sim::restore_device("p0");
}

TEST_F(CompressTest, ExpandsFromAndToMemoryOfTheHost) {
  const auto host = Device::open(find_device("pf0", Side::host));
  const ByteVector text = [] {
    ByteVector bytes(300'000);
    fill_pattern(bytes, 7);
    return bytes;
  }();
  const ByteVector large = stored(text);
  MappedBytes theirs(host, large.size(), Access::pci_read_only);
  MappedBytes back(host, 400'000, Access::pci_read_write);
  std::ranges::copy(large, theirs.bytes.begin());
  const auto from = Mmap::create_from_export(device, theirs.mmap->export_pci(*host));
  const auto to = Mmap::create_from_export(device, back.mmap->export_pci(*host));
  Buf* src = nullptr;
  Buf* dst = nullptr;
  ASSERT_EQ(bufs.inventory->get_by_data(from, from->addr(), from->len(), src), Status::success);
  ASSERT_EQ(bufs.inventory->get_by_addr(to, to->addr(), to->len(), dst), Status::success);
  hold(src);
  hold(dst);
  rig.submitted(src, dst);
  rig.progress_until(1);
  EXPECT_EQ(rig.completions.back().status, Status::success);
  EXPECT_EQ(dst->data_len(), text.size());
  EXPECT_TRUE(same(std::span(back.bytes).first(text.size()), text));

  theirs.mmap->stop();
  EXPECT_THAT(failure_of(src, target()), HasSubstr("src"));
}

}  // namespace
}  // namespace pydoca

#include <pydoca/capabilities.hpp>
#include <pydoca/device_properties.hpp>
#include <pydoca/faults.hpp>

#include "backend/faulty/faults_rig.hpp"
#include "rig/bytes.hpp"
#include "rig/library/compress_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

namespace pydoca {
namespace {

/// Expands a stream of 1,000 plain bytes, in memory of 4,096, on a device that has the engine.
class DecompressFaults : public FaultsTest {
 protected:
  void start(FaultRule rule) {
    inject({std::move(rule)});
    device = Device::open(find_device("p0", Side::dpu));
    if (!device->info().capabilities().compress) {
      GTEST_SKIP() << find_capability("compress").of(device->info()).reason;
    }
    fill_pattern(plain, 1);
    stream = stored(plain);
    src.emplace(device, stream.size());
    dst.emplace(device, 4096);
    std::ranges::copy(stream, src->bytes.begin());
    rig.emplace(device, ProgressEngine::create(), 8);
    rig->free_tasks = false;
    EXPECT_EQ(rig->compress->start(), Status::success);
    from = bufs.by_data(*src, 0, stream.size());
    to = bufs.by_addr(*dst, 0, 4096);
    task = &rig->submitted(from, to);
  }
  void TearDown() override {
    if (!rig) {
      return;
    }
    EXPECT_EQ(task->free(), Status::success);
    static_cast<void>(rig->compress->stop());
    rig->progress_until_idle();
    rig->compress->close();
    Bufs::free({from, to});
  }
  std::size_t num_wrong() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < plain.size(); ++i) {
      count += dst->bytes[i] != plain[i] ? 1U : 0U;
    }
    return count;
  }

  std::shared_ptr<Device> device;
  ByteVector plain = ByteVector(1000);
  ByteVector stream;
  std::optional<MappedBytes> src;
  std::optional<MappedBytes> dst;
  Bufs bufs{8};
  std::optional<CompressRig> rig;
  Buf* from = nullptr;
  Buf* to = nullptr;
  CompressDecompressDeflateTask* task = nullptr;
};

TEST_F(DecompressFaults, AByteOfThePlainDataIsWrong) {
  start({.action = FaultAction::corrupt, .opcodes = {"compress.decompress_deflate"}});
  if (IsSkipped()) {
    return;
  }
  rig->progress_until(1);
  EXPECT_EQ(rig->completions[0].status, Status::success);
  EXPECT_EQ(to->data_len(), plain.size());
  EXPECT_EQ(num_wrong(), 1U);
}

TEST_F(DecompressFaults, TheDeviceTellsALengthThatIsTooSmall) {
  start({.action = FaultAction::misreport_length, .length = 7});
  if (IsSkipped()) {
    return;
  }
  rig->progress_until(1);
  EXPECT_EQ(rig->completions[0].status, Status::success);
  EXPECT_EQ(to->data_len(), 7U);
  EXPECT_EQ(num_wrong(), 0U);
}

TEST_F(DecompressFaults, ATaskThatIsDoneTwiceHasItsAnswerOnce) {
  start({.action = FaultAction::duplicate});
  if (IsSkipped()) {
    return;
  }
  rig->progress_until(1);
  EXPECT_EQ(to->data_len(), plain.size());
  EXPECT_NE(task->crc_cs(), 0U);
}

TEST_F(DecompressFaults, ATaskFails) {
  start({.opcodes = {"compress.decompress_deflate"}, .status = Status::driver});
  if (IsSkipped()) {
    return;
  }
  rig->progress_until(1);
  EXPECT_EQ(rig->compress->failure(), Status::driver);
  EXPECT_THAT(task->explain(Status::driver), testing::HasSubstr("fault plan"));
}

}  // namespace
}  // namespace pydoca

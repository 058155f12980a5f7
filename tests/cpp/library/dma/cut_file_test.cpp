#include "rig/bytes.hpp"
#include "rig/library/dma_rig.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

namespace pydoca {
namespace {

constexpr std::size_t page = 4096;
constexpr const char* gone_source =
    "src's memory is gone: the mapped file has become shorter than its map; map it again";
constexpr const char* gone_target =
    "dst's memory is gone: the mapped file has become shorter than its map; map it again";

/// A memory map of a file of so many pages, all but the first of which go when it is cut.
class FileMap {
 public:
  FileMap(const std::shared_ptr<Device>& device, std::size_t size)
      : size_(size), file_(::memfd_create("cut", MFD_CLOEXEC)) {
    EXPECT_EQ(::ftruncate(file_, static_cast<off_t>(size)), 0);
    address_ = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    mmap_->add_device(device);
    mmap_->set_memrange(address_, size);
    mmap_->start();
  }
  ~FileMap() {
    mmap_->close();
    ::munmap(address_, size_);
    ::close(file_);
  }
  FileMap(const FileMap&) = delete;
  FileMap& operator=(const FileMap&) = delete;

  void cut() const { EXPECT_EQ(::ftruncate(file_, page), 0); }
  Buf* buf(BufInventory& inventory, std::size_t data_len) const {
    Buf* buf = nullptr;
    EXPECT_EQ(inventory.get_by_addr(mmap_, address_of(address_), size_, buf), Status::success);
    EXPECT_EQ(buf->set_data_len(data_len), Status::success);
    return buf;
  }

 private:
  const std::size_t size_;
  const int file_;
  void* address_ = nullptr;
  const std::shared_ptr<Mmap> mmap_ = Mmap::create();
};

/// Copies on a simulated device, of a size that one thread or its workers do.
class DmaCutFile : public HeldBufsTest, public testing::WithParamInterface<std::size_t> {
 protected:
  DmaCutFile() {
    fill_pattern(src_memory.bytes, 1);
    EXPECT_EQ(rig.dma->start(), Status::success);
  }
  std::size_t size() const { return GetParam(); }
  Buf* source() { return hold(bufs.by_data(src_memory, 0, size())); }
  Buf* target() { return hold(bufs.by_addr(dst_memory, 0, size())); }
  Buf* file_buf(const FileMap& map, std::size_t data_len) { return hold(map.buf(*bufs.inventory, data_len)); }
  Status copy(Buf* src, Buf* dst) {
    rig.submitted(src, dst);
    rig.progress_until(rig.completions.size() + 1);
    return rig.completions.back().status;
  }

  std::shared_ptr<Device> device = Device::open(find_device("p0", Side::dpu));
  std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
  MappedBytes src_memory{device, size()};
  MappedBytes dst_memory{device, size()};
  FileMap file{device, size()};
  FileMap second{device, size()};
  DmaRig rig{device, pe, 8};
};

TEST_P(DmaCutFile, IsCopiedWhileItIsWhole) {
  Buf* const first = file_buf(file, 0);
  Buf* const other = file_buf(second, 0);
  EXPECT_EQ(copy(source(), first), Status::success);
  EXPECT_EQ(copy(first, other), Status::success);
  EXPECT_EQ(copy(other, target()), Status::success);
  EXPECT_TRUE(same(src_memory.bytes, dst_memory.bytes));
}

TEST_P(DmaCutFile, FailsTheCopyThatReadsIt) {
  file.cut();
  rig.expect_refused(rig.task(file_buf(file, size()), target()), gone_source, true);
}

TEST_P(DmaCutFile, FailsTheCopyThatWritesIt) {
  file.cut();
  rig.expect_refused(rig.task(source(), file_buf(file, 0)), gone_target, true);
}

TEST_P(DmaCutFile, FailsTheCopyBetweenFiles) {
  second.cut();
  rig.expect_refused(rig.task(file_buf(file, size()), file_buf(second, 0)), gone_target, true);
}

INSTANTIATE_TEST_SUITE_P(, DmaCutFile, testing::Values(2 * page, std::size_t{1} << 20),
                         [](const auto& info) { return std::to_string(info.param) + "_bytes"; });

}  // namespace
}  // namespace pydoca

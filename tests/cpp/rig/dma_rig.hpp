#pragma once

#include "pydoca/dma.hpp"

#include "rig/data_rig.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace pydoca {

/// A DMA context on a progress engine that records every completion and every state.
class DmaRig : public DataRig<Dma, DmaMemcpyTask> {
 public:
  DmaRig(const std::shared_ptr<Device>& device, const std::shared_ptr<ProgressEngine>& engine, std::uint32_t num_tasks)
      : DataRig(Dma::create(device), engine, &Dma::set_memcpy_conf, num_tasks) {}

  /// A task that is not submitted.
  DmaMemcpyTask& task(Buf* src, Buf* dst, std::uint64_t user_data = 0) {
    DmaMemcpyTask* task = nullptr;
    EXPECT_EQ(dma->memcpy(src, dst, user_data, task), Status::success);
    return *task;
  }
  DmaMemcpyTask& submitted(Buf* src, Buf* dst, std::uint64_t user_data = 0) {
    DmaMemcpyTask& posted = task(src, dst, user_data);
    EXPECT_EQ(posted.submit(), Status::success);
    return posted;
  }

  const std::shared_ptr<Dma>& dma = context;
};

/// A started rig with memory of its own on a fake device.
class DmaTest : public testing::Test {
 protected:
  static constexpr std::size_t memory_size = std::size_t{4} << 20;   ///< and the device's limit
  static constexpr std::size_t large_size = std::size_t{512} << 10;  ///< goes to the device's workers

  /// A small source and destination at the same offset; offsets apart by 64.
  void submit_small(std::uint64_t user_data, std::size_t offset) {
    Buf* const src = bufs.by_data(src_memory, offset, 64);
    Buf* const dst = bufs.by_addr(dst_memory, offset, 64);
    rig.submitted(src, dst, user_data);
    held.insert(held.end(), {src, dst});
  }
  void submit_large(std::uint64_t user_data, std::size_t offset) {
    Buf* const src = bufs.by_data(src_memory, offset, large_size);
    Buf* const dst = bufs.by_addr(dst_memory, offset, large_size);
    rig.submitted(src, dst, user_data);
    held.insert(held.end(), {src, dst});
  }
  void free_held() {
    for (Buf* const buf : held) {
      EXPECT_EQ(buf->dec_refcount(), Status::success);
    }
    held.clear();
  }
  void TearDown() override {
    free_held();
    EXPECT_EQ(bufs.inventory->num_free_elements(), bufs.inventory->num_elements());
  }

  fake::Backend backend;
  std::shared_ptr<Device> device = backend.open_device();
  std::shared_ptr<ProgressEngine> pe = ProgressEngine::create();
  MappedBytes src_memory{device, memory_size};
  MappedBytes dst_memory{device, memory_size};
  Bufs bufs{1024};
  DmaRig rig{device, pe, 512};
  std::vector<Buf*> held;
};

}  // namespace pydoca
